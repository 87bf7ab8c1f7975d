"""The motion of a free rigid body in many digits, twice, from nothing but the equations of motion.

    y' = y x (J^-1 y),  r' = 1/2 r * (0, J^-1 y),  r(0) = 1

`taylor` integrates them. `closed_form` is Legendre's solution in Euler angles, with as many digits as its
cancellations need; `symmetric_form` that for two equal moments.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, localcontext
from typing import Any

import mpmath
from mpmath import mp, mpf

Vector = Sequence[float]
Motion = tuple[list[Any], list[Any]]  # y(t), r(t)


def taylor(moments: Vector, y0: Vector, t: float, digits: int = 34) -> Motion:
    """y(t) and r(t) by Taylor series of order digits + 10, each step as long as its last terms allow."""
    order = digits + 10
    with localcontext() as context:
        context.prec = digits + 10
        a = [1 / Decimal(moment) for moment in moments]
        y, r, left = [Decimal(x) for x in y0], [Decimal(int(k == 0)) for k in range(4)], Decimal(t)
        while left != 0:
            ys, rs = [[x] for x in y], [[x] for x in r]
            ws = [[a[j] * y[j] / 2] for j in range(3)]  # omega/2

            def term(f: list[Decimal], g: list[Decimal]) -> Decimal:
                return sum((x * z for x, z in zip(f, reversed(g), strict=True)), Decimal(0))

            for n in range(order):
                dy = [(a[j - 1] - a[j - 2]) * term(ys[j - 2], ys[j - 1]) for j in range(3)]
                v = rs[1:]
                dr = [-sum(term(v[j], ws[j]) for j in range(3))]
                dr += [term(rs[0], ws[j]) + term(v[j - 2], ws[j - 1]) - term(v[j - 1], ws[j - 2]) for j in range(3)]
                for j in range(3):
                    ys[j].append(dy[j] / (n + 1))
                    ws[j].append(a[j] * ys[j][-1] / 2)
                for k in range(4):
                    rs[k].append(dr[k] / (n + 1))
            last = max(abs(f[k]) for f in ys + rs for k in (-1, -2))
            longest = abs(left) if last == 0 else 10 ** (-(digits + last.log10()) / order)
            h = min(abs(left), longest).copy_sign(left)
            y, r = ([sum(c * h**n for n, c in enumerate(f)) for f in fs] for fs in (ys, rs))
            left -= h
        return y, r


def amplitude_functions(u: Any, m1: Any) -> tuple[Any, Any, Any]:
    """sn, cn and the arithmetic-geometric mean of 1 and k', by descending the scale of amplitudes."""
    a, g, ratios = mpf(1), mp.sqrt(m1), []
    while a - g > mp.eps * a:
        a, g, c = (a + g) / 2, mp.sqrt(a * g), (a - g) / 2
        ratios.append(c / a)
    phi = 2 ** len(ratios) * a * u
    for ratio in reversed(ratios):
        phi = (phi + mp.asin(ratio * mp.sin(phi))) / 2
    return mp.sin(phi), mp.cos(phi), a


def multiplied(p: Sequence[Any], q: Sequence[Any]) -> list[Any]:
    """Hamilton product."""
    (a, b, c, d), (e, f, g, h) = p, q
    return [
        a * e - b * f - c * g - d * h, a * f + b * e + c * h - d * g,
        a * g + c * e + d * f - b * h, a * h + d * e + b * g - c * f,
    ]  # fmt: skip


def closed_form(moments: Vector, y0: Vector, t: float, digits: int = 60) -> Motion:
    """Precession psi, nutation theta and spin phi about axis 3, for different moments off the separatrix.

    psi = L t/I3 + L (1/I1 - 1/I3)/u' [Pi(-c2/c1; u)],  y = L (sin theta sin phi, sin theta cos phi, cos theta)
    """
    with mpmath.workdps(digits):
        order = sorted(range(3), key=lambda j: moments[j])
        j1, j2, j3 = (mpf(moments[j]) for j in order)
        if j1 * (j3 - j2) * mpf(y0[order[2]]) ** 2 < j3 * (j2 - j1) * mpf(y0[order[0]]) ** 2:
            order, j1, j3 = order[::-1], j3, j1
        signs = [1 if (order[1] - order[0]) % 3 == 1 else -1, 1, 1]  # right-handed, y3 > 0
        if y0[order[2]] < 0:
            signs = [-signs[0], 1, -1]
        y1, y2, y3 = (sign * mpf(y0[j]) for sign, j in zip(signs, order, strict=True))
        length = mp.sqrt(y1**2 + y2**2 + y3**2)
        c1 = j1 * (j3 - j2) / (j2 * (j3 - j1))
        c2 = 1 - c1
        k1, k3 = mp.sqrt(y1**2 + c1 * y2**2), mp.sqrt(y3**2 + c2 * y2**2)
        k2 = k1 / mp.sqrt(c1)
        m1 = 1 - c2 * k1**2 / (c1 * k3**2)
        rate = k3 * (j3 - j2) / (j2 * j3 * mp.sqrt(c1))
        quarter = mp.pi / (2 * amplitude_functions(mpf(0), m1)[2])
        n = -c2 / c1
        complete = quarter + n / 3 * mp.elliprj(0, m1, 1, 1 - n)

        def at(u: Any, elapsed: Any, before: Any) -> tuple[list[Any], list[Any], Any]:
            turns = mp.floor(u / (2 * quarter) + mpf(1) / 2)
            u -= 2 * quarter * turns
            sn, cn, _ = amplitude_functions(u, m1)
            dn2 = cn**2 + m1 * sn**2
            third = u + n / 3 * sn**3 * mp.elliprj(cn**2, dn2, 1, 1 - n * sn**2) + 2 * turns * complete
            psi = length * (elapsed / j3 + (1 / j1 - 1 / j3) / rate * (third - before))
            phi = mp.pi / 2 - mp.atan2(k2 * sn, k1 * cn) - turns * mp.pi
            flip = (-1) ** int(turns)
            y = [flip * k1 * cn, flip * k2 * sn, k3 * mp.sqrt(dn2)]
            theta = mp.atan2(mp.hypot(y[0], y[1]), y[2])
            q = [mp.cos(psi / 2), 0, 0, mp.sin(psi / 2)]
            q = multiplied(q, [mp.cos(theta / 2), mp.sin(theta / 2), 0, 0])
            return y, multiplied(q, [mp.cos(phi / 2), 0, 0, mp.sin(phi / 2)]), third

        side = 1 if y1 >= 0 else -1
        start = side * y2 / k2 * mp.elliprf((y1 / k1) ** 2, (y3 / k3) ** 2, 1) + (quarter - side * quarter)
        _, _, before = at(start, mpf(0), mpf(0))
        _, q, _ = at(start, mpf(0), before)
        y, q_end, _ = at(start + rate * mpf(t), mpf(t), before)
        r = multiplied([q[0], -q[1], -q[2], -q[3]], q_end)
        back = [order.index(j) for j in range(3)]
        return [signs[k] * y[k] for k in back], [r[0], *(signs[k] * r[1 + k] for k in back)]


def symmetric_form(moments: Vector, y0: Vector, t: float, axis: int) -> Motion:
    """Two moments equal, exactly: r = exp(t y/I) * exp(t (1/I_axis - 1/I) y_axis e_axis)."""
    with mpmath.workdps(40):
        y, equal = [mpf(x) for x in y0], mpf(moments[axis - 1])
        half = mp.sqrt(sum(x * x for x in y)) * t / (2 * equal)
        first = [mp.cos(half), *(x * t / (2 * equal) * mp.sinc(half) for x in y)]
        spin = (1 / mpf(moments[axis]) - 1 / equal) * y[axis] * t
        second = [mp.cos(spin / 2), 0, 0, 0]
        second[1 + axis] = mp.sin(spin / 2)
        i, j = (axis + 1) % 3, (axis + 2) % 3
        end = list(y)
        end[i], end[j] = y[i] * mp.cos(spin) + y[j] * mp.sin(spin), y[j] * mp.cos(spin) - y[i] * mp.sin(spin)
        return end, multiplied(first, second)


def difference(p: Motion, q: Motion) -> float:
    """Largest difference of two references."""
    with mpmath.workdps(60):
        return float(max(abs(mpf(str(a)) - mpf(str(b))) for a, b in zip(p[0] + p[1], q[0] + q[1], strict=True)))


def turned_from(q0: Vector, r: list[Any]) -> list[Any]:
    """q0/|q0| * r with a first component that is not negative, as mpmath numbers."""
    with mpmath.workdps(60):
        start = [mpf(x) for x in q0]
        length = mp.sqrt(sum(x * x for x in start))
        q = multiplied([x / length for x in start], [mpf(str(x)) for x in r])
        return [mp.sign(q[0]) * x for x in q]
