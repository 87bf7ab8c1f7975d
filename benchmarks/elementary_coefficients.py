"""Writes `catena/kernels/elementary/coefficients.py`: constants, tables and polynomials, computed with many digits.

A polynomial is close to the best one of its degree: least squares at Chebyshev nodes, which are dense near the ends.
Its coefficients are rounded to doubles one by one, the lowest first; after each, the following ones are fitted again to
the remainder, so that they compensate the rounding. The remaining error is printed in powers of two.

    python benchmarks/elementary_coefficients.py          # writes the file
    python benchmarks/elementary_coefficients.py --check  # compares only
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from mpmath import mp, mpf

TARGET = Path(__file__).parents[1] / "src/catena/kernels/elementary/coefficients.py"
WIDTH = 118
Real = Callable[[mpf], mpf]

# name: (function of z, largest |z|, whether z may be negative, number of coefficients)
# for sin, cos, asin, ... z is the square of the argument: sin r = r + r z SIN(z), cos r = 1 - z/2 + z^2 COS(z)
POLYNOMIALS: dict[str, tuple[Real, float, bool, int]] = {
    "SIN": (lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, 0.6170, False, 7),
    "COS": (lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2, 0.6170, False, 7),
    "EXP": (lambda r: (mp.exp(r) - 1 - r) / r**2, 0.00542, True, 4),
    "EXP_LANE": (lambda r: (mp.exp(r) - 1 - r) / r**2, 0.3466, True, 10),
    "LOG": (lambda r: (mp.log1p(r) - r) / r**2, 0.0078125, True, 7),
    "LOG_TAIL": (lambda r: (mp.log1p(r) - r + r**2 / 2) / r**3, 0.0078125, True, 7),
    "ATAN": (lambda z: (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, 0.1716, False, 12),
    "ASIN": (lambda z: (mp.asin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, 0.25, False, 14),
    "SINH": (lambda z: (mp.sinh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, 1.0, False, 8),
    "TANH": (lambda z: (mp.tanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, 0.3025, False, 12),
    "ASINH": (lambda z: (mp.asinh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, 0.25, False, 14),
    "ATANH": (lambda z: (mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, 0.25, False, 15),
}


def fitted(function: Real, nodes: list[mpf], made: list[float], count: int) -> list[mpf]:
    """The best coefficients of z^k, z^(k+1), ... if the first k are those `made`: least squares at the nodes."""
    rest = mp.matrix([function(z) - mp.polyval([mpf(c) for c in made[::-1]] or [mpf(0)], z) for z in nodes])
    powers = mp.matrix(len(nodes), count - len(made))
    for i, z in enumerate(nodes):
        for j in range(powers.cols):
            powers[i, j] = z ** (len(made) + j)
    return list(mp.lu_solve(powers.T * powers, powers.T * rest))


def rounded(function: Real, lower: mpf, upper: mpf, count: int) -> list[float]:
    """A polynomial in doubles: each coefficient is rounded, and the next ones are fitted to the remainder."""
    middle, half, among = (upper + lower) / 2, (upper - lower) / 2, 6 * count
    nodes = [middle + half * mp.cos(mp.pi * (2 * k + 1) / (2 * among)) for k in range(among)]
    made: list[float] = []
    while len(made) < count:
        made.append(float(fitted(function, nodes, made, count)[0]))
    return made


def remains(function: Real, lower: mpf, upper: mpf, made: list[float]) -> mpf:
    """The largest error, as a power of two."""
    points = [lower + (upper - lower) * k / 400 for k in range(401)]
    return mp.log(max(abs(function(z) - mp.polyval([mpf(c) for c in made[::-1]], z)) for z in points if z != 0), 2)


def cut(x: mpf, places: int) -> mpf:
    """x, rounded to a multiple of 2^-places."""
    return mp.nint(x * mpf(2) ** places) / mpf(2) ** places


def pieces(x: mpf, count: int) -> list[float]:
    """Doubles whose sum is x, each rounded from the remainder of the previous ones."""
    made = []
    for _ in range(count):
        made.append(float(x))
        x -= made[-1]
    return made


def log_table() -> dict[str, list[float]]:
    """For 128 intervals from 0.703125 to 1.40625: a short reciprocal c of the middle, and -log(c) in two parts.

    c has so few digits that z c - 1 is exact. Next to 1 it is 1, so that only z - 1 contributes there. The first part
    is a multiple of 2^-42, like that of log(2), so that their sums are exact.
    """
    table: dict[str, list[float]] = {"LOG_RECIPROCAL": [], "LOG_FIRST": [], "LOG_SECOND": []}
    for index in range(128):
        below = index < 76
        lower = mpf("0.703125") + mpf(index) / 256 if below else 1 + mpf(index - 76) / 128
        upper = lower + mpf(1) / (256 if below else 128)
        c = mpf(1) if lower <= 1 <= upper else cut(2 / (lower + upper), 7 if below else 8)
        assert max(abs(lower * c - 1), abs(upper * c - 1)) <= mpf(2) ** -7
        first = cut(-mp.log(c), 42)
        table["LOG_RECIPROCAL"].append(float(c))
        table["LOG_FIRST"].append(float(first))
        table["LOG_SECOND"].append(float(-mp.log(c) - first))
    return table


def exp_table() -> dict[str, list[float]]:
    """2^(k/64) as a double, and its relative rounding error."""
    first = [float(mpf(2) ** (mpf(k) / 64)) for k in range(64)]
    second = [float(mpf(2) ** (mpf(k) / 64) / first[k] - 1) for k in range(64)]
    return {"EXP_FIRST": first, "EXP_SECOND": second}


def constants() -> dict[str, float]:
    """Single numbers: those whose names end in 1, 2, 3 add up to the number named."""
    made = {"TWO_OVER_PI": float(2 / mp.pi), "EXP_STEPS": float(64 / mp.log(2)), "EXP_DOUBLINGS": float(1 / mp.log(2))}
    made["TAN_PI_8"] = float(mp.tan(mp.pi / 8))
    for number, part in enumerate(pieces(mp.pi / 2, 3), 1):
        made[f"HALF_PI_{number}"] = part
    for number, part in enumerate(pieces(mp.log(2), 2), 1):
        made[f"LOG_2_WHOLE_{number}"] = part
    first = cut(mp.log(2), 42)
    made |= {"LOG_2_1": float(first), "LOG_2_2": float(mp.log(2) - first)}
    step = mp.log(2) / 64
    first = cut(step, 40)  # 34 digits: times a number of steps, it is exact
    made |= {"EXP_STEP_1": float(first), "EXP_STEP_2": float(step - first)}
    return made


def two_over_pi() -> list[int]:
    """Binary digits of 2/pi after the point, 24 at a time, after 24 zeros: enough for the largest double, and 200
    more."""
    with mp.workprec(1600):
        digits = int(mp.floor(2 / mp.pi * mpf(2) ** (24 * 52)))
    return [0, *(digits >> 24 * (51 - k) & 0xFFFFFF for k in range(52))]


def listed(name: str, numbers: list[float] | list[int], *, opening: str = "Table((") -> list[str]:
    """A table, or another literal with these brackets, with as many numbers per line as fit."""
    lines, line = [f"{name} = {opening}"], "   "
    for number in numbers:
        if len(line) + len(repr(number)) + 2 > WIDTH:
            lines.append(line)
            line = "   "
        line += f" {number!r},"
    return [*lines, line, ")" * opening.count("(")]


def text() -> str:
    """The whole file."""
    mp.prec = 250
    lines = [
        '"""Constants of the elementary functions, written by `benchmarks/elementary_coefficients.py`: not to be edited."""'
    ]
    lines += ["", "# fmt: off", "from ..marks import Table", ""]
    lines += [f"{name} = {value!r}" for name, value in constants().items()]
    for name, (function, largest, both, count) in POLYNOMIALS.items():
        upper = mpf(largest)
        lower = -upper if both else mpf(0)
        made = rounded(function, lower, upper, count)
        lines += ["", f"# {name}: error 2^{float(remains(function, lower, upper, made)):.1f}"]
        lines += listed(name, made, opening="(")
    for name, numbers in {**log_table(), **exp_table()}.items():
        lines += ["", *listed(name, numbers)]
    lines += ["", *listed("TWO_OVER_PI_DIGITS", two_over_pi()), ""]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    made = text()
    if parser.parse_args().check:
        return int(TARGET.read_text() != made)
    TARGET.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
