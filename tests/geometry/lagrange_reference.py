"""The motion of Lagrange's top in many digits, twice: from the equations of motion, and in theta functions.

    q' = 1/2 q * (0, J^-1 y),  y' = y x (J^-1 y) + n x (0, 0, g),  n = R(q)^T e_z,  J = diag(A, A, C)

`taylor` integrates them. `closed_form` takes Jacobi's quotients as they stand in the books, each constant from the start by one
division, with as many digits as the cancellations near a double root need; it fails where the axis is vertical at the start.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, localcontext
from typing import Any

import mpmath
from mpmath import mp, mpc, mpf

Case = tuple[float, float, float, Sequence[float], Sequence[float], float]  # A, C, g, q (any length), y, t


def taylor(case: Case, digits: int = 26) -> list[Any]:
    """q(t), y(t) by Taylor series of order digits + 10, each step as long as its last terms allow."""
    a, c, g, q0, y0, t = case
    order = digits + 10
    with localcontext() as context:
        context.prec = digits + 10
        i1, i3, pull, left = Decimal(a), Decimal(c), Decimal(g), Decimal(t)
        length = sum(Decimal(x) ** 2 for x in q0).sqrt()  # type: ignore[union-attr]
        z = [*(Decimal(x) / length for x in q0), *map(Decimal, y0)]

        def term(f: list[Decimal], h: list[Decimal]) -> Decimal:
            return sum((x * w for x, w in zip(f, reversed(h), strict=True)), Decimal(0))

        while left != 0:
            s = [[x] for x in z]
            w = [[z[4] / (2 * i1)], [z[5] / (2 * i1)], [z[6] / (2 * i3)]]
            for n in range(order):
                p = [[term(s[j], w[k]) for k in range(3)] for j in range(4)]
                rate = [
                    -p[1][0] - p[2][1] - p[3][2], p[0][0] + p[2][2] - p[3][1],
                    p[0][1] + p[3][0] - p[1][2], p[0][2] + p[1][1] - p[2][0],
                    2 * (i1 - i3) / i1 * term(s[5], w[2]) + 2 * pull * (term(s[2], s[3]) + term(s[0], s[1])),
                    2 * (i3 - i1) / i1 * term(s[4], w[2]) - 2 * pull * (term(s[1], s[3]) - term(s[0], s[2])),
                    Decimal(0),
                ]  # fmt: skip
                for f, r in zip(s, rate, strict=True):
                    f.append(r / (n + 1))
                for f, y, moment in zip(w, s[4:], (i1, i1, i3), strict=True):
                    f.append(y[-1] / (2 * moment))
            last = max(abs(f[k]) for f in s for k in (-1, -2))
            longest = abs(left) if last == 0 else 10 ** (-(digits + last.log10()) / order)
            h = min(abs(left), longest).copy_sign(left)
            powers = [h**n for n in range(order + 1)]
            z = [sum((x * power for x, power in zip(f, powers, strict=True)), Decimal(0)) for f in s]
            left -= h
        with mpmath.workdps(digits + 10):
            return [mpf(str(x)) for x in z]


def theta(which: int, z: Any, nome: Any) -> tuple[Any, Any]:
    """th1, th2, th3 or th4 at z, and the derivative there, by their series."""
    half, alternates = which < 3, which in (1, 4)
    step, square = mp.expj(2 * z), nome * nome
    back_step = 1 / step
    ahead, weight, ratio, odd = mpc(1), mpf(1), nome, 0  # e^(i odd z), nome^(n^2), its next factor
    if half:
        ahead, weight, ratio, odd = mp.expj(z), mp.sqrt(mp.sqrt(nome)), square, 1
    back = 1 / ahead
    total = slope = mpc(0)
    for n in range(1000):
        sign = -1 if alternates and n % 2 else 1
        a, b = sign * weight * ahead, sign * weight * (-back if which == 1 else back)
        if half or n:
            total, slope = total + (a + b), slope + 1j * odd * (a - b)
        else:
            total += a
        if n > 1 and weight * (abs(ahead) + abs(back)) < mp.eps * (abs(total) + mp.eps):
            break
        ahead, back, weight, ratio, odd = ahead * step, back * back_step, weight * ratio, ratio * square, odd + 2
    return (total / 1j, slope / 1j) if which == 1 else (total, slope)


def closed_form(case: Case, digits: int = 40) -> list[Any]:
    """q(t), y(t) by theta functions."""
    a, c, g, q, y, t = case
    with mpmath.workdps(digits + 20):
        moment, axial, pull, time = mpf(a), mpf(c), mpf(g), mpf(t)
        length = mp.sqrt(sum(mpf(x) ** 2 for x in q))
        q0, q1, q2, q3 = (mpf(x) / length for x in q)
        y1, y2, spin = (mpf(x) for x in y)
        over = pull < 0
        if over:
            q0, q1, q2, q3, y2, spin, pull = -q1, q0, q3, -q2, -y2, -spin, -pull
        alpha, beta, eta = mpc(q0, q3), mpc(q1, q2), mpc(y1, y2)
        n = 2j * mp.conj(alpha) * beta
        u0 = abs(alpha) ** 2 - abs(beta) ** 2
        vertical = (n * mp.conj(eta)).real + u0 * spin
        energy = abs(eta) ** 2 / (2 * moment) + pull * u0
        u1, u2, u3 = _roots(moment, pull, energy, vertical, spin)
        rate = mp.sqrt(pull * (u3 - u1) / (2 * moment))
        m, m1 = (u2 - u1) / (u3 - u1), (u3 - u2) / (u3 - u1)
        quarter, other = (mp.pi / (2 * mp.agm(1, mp.sqrt(k))) for k in (m1, m))
        nome, f = mp.exp(-mp.pi * other / quarter), mp.pi / (2 * quarter)

        def first_kind(tangent2: Any) -> Any:
            return mp.sqrt(tangent2) * mp.elliprf(1, 1 + m * tangent2, 1 + tangent2)

        s1 = f * first_kind((1 + u1) / (u2 - u1)) * (-1 if vertical + spin >= 0 else 1)
        s2 = f * first_kind((1 - u2) * (u3 - u1) / ((u3 - 1) * (u2 - u1))) * (-1 if vertical - spin >= 0 else 1)
        sn2 = min(max((u0 - u1) / (u2 - u1), mpf(0)), mpf(1))
        x0 = f * mp.sqrt(sn2) * mp.elliprf(1 - sn2, 1 - m * sn2, 1) * (1 if (mp.conj(n) * eta).imag >= 0 else -1)
        own, kappa = spin * (1 / axial - 1 / moment), rate * f

        def logarithmic(which: int, z: Any) -> Any:
            value, slope = theta(which, z, nome)
            return (slope / value).imag

        def gain(which: int, s: Any) -> Any:
            return theta(which, x + 1j * s, nome)[0] / theta(which, x0 + 1j * s, nome)[0]

        nu1 = ((vertical + spin) / (moment * (1 + u2)) + own) / 2 - kappa * logarithmic(1, mp.pi / 2 + 1j * s1)
        nu2 = ((vertical - spin) / (moment * (1 - u1)) - own) / 2 - kappa * logarithmic(2, 1j * s2)
        x = x0 + kappa * time
        fall = 1 / gain(4, 0)
        alpha *= mp.expj(nu1 * time) * gain(1, s1) * fall
        beta *= mp.expj(nu2 * time) * gain(2, s2) * fall
        eta *= mp.expj((nu2 - nu1) * time) * gain(3, s2 - s1) * fall
        if over:
            return [beta.real, -alpha.real, -alpha.imag, beta.imag, eta.real, -eta.imag, -spin]
        return [alpha.real, beta.real, beta.imag, alpha.imag, eta.real, eta.imag, spin]


def _roots(moment: Any, pull: Any, energy: Any, vertical: Any, spin: Any) -> list[Any]:
    """u1 <= u2 <= u3 of (2/A)(E - g u)(1 - u^2) - ((p - c u)/A)^2, by the formula of three real roots."""
    b = -(2 * energy * moment + spin**2) / (2 * pull * moment)
    c = -1 + vertical * spin / (pull * moment)
    d = energy / pull - vertical**2 / (2 * pull * moment)
    p, q = c - b * b / 3, 2 * b**3 / 27 - b * c / 3 + d
    radius = 2 * mp.sqrt(max(-p / 3, mpf(0)))
    angle = mp.acos(min(max(3 * q / (p * radius), mpf(-1)), mpf(1))) / 3
    u = sorted(radius * mp.cos(angle - 2 * mp.pi * k / 3) - b / 3 for k in range(3))
    return [max(u[0], mpf(-1)), u[1], u[2]]
