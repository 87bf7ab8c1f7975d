"""Expressions with mistakes in them, the same ones for the same seed."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator

NAMES = ("q", "p", "q1", "q2", "p1", "p2", "a", "b", "r", "lambda", "x_1", "e")

SOUND = (
    "p**2/2 - cos(q)*(1 - p/6)",
    "(p1**2 + p2**2)/2 - 1/sqrt(q1**2 + q2**2)",
    "(p1**2 + p2**2 + q1**2 + q2**2)/2 + q1**2*q2 - q2**3/3",
    "p1**2/2 + b*(p1*q2 - p2*q1) + a*log(1.5 + q1**2/a**2 + q2**2/b**2)",
    "4*a*((b/r)**12 - (b/r)**6)",
    "a*(1 - exp(-b*(r - 1.25)))**2 + 0.1*r**-1.5",
    "atan2(q2, q1)*tanh(p)/(1 + e*cos(q)) - sinh(x_1)**2",
    "lambda*exp(-r/3)/r + 2**-q - pi*asin(q/4)*acos(p/4)",
    "(p1**2*b + p2**2*a - 2*p1*p2*cos(q1 - q2))/(2*(a*b + sin(q1 - q2)**2)) - 3*cos(q1)",
    "sqrt(1 + p**2) + acosh(2 + q**2)*asinh(p) + atan(q)*atanh(p/5) + tan(q/2) + r**x_1",
)

HOSTILE = (
    *(
        "(",
        ")",
        "[",
        "]",
        ",",
        ".",
        "..",
        "^",
        "**",
        "//",
        "=",
        "==",
        "<",
        ">=",
        "&",
        "|",
        "!",
        ":",
        ";",
        "@",
        "#",
        "$",
        "\\",
    ),
    *("'", '"', "`", "{", "}", "\n", "\t", "\0", "\r\n", "\u2028", "\u200b", "²", "٣", "−", "é", "∂", "😀", "\ud800"),
    *(
        "__import__('os').system('true')",
        "__class__",
        "lambda",
        "lambda x: x",
        "eval",
        "exec(p)",
        "print",
        "I",
        "oo",
        "zoo",
        "E",
    ),
    *(
        "nan",
        "inf",
        "1e999",
        "-1e-999",
        "1e308",
        "0x1F",
        "1_000",
        "1j",
        "0",
        "/0",
        "**-1",
        "**0.5",
        "*1e300",
        "9**9**9",
        "10**400",
    ),
    *(
        "**99",
        "**100.5",
        "**q",
        "*(0)",
        "-q",
        "(-1)**",
        "sqrt(",
        "log(",
        "log(0)",
        "sqrt(-2)",
        "acos(3)",
        "abs(q)",
        "and",
        "not",
    ),
    *(
        "123456789012345678901234567890",
        "0.1000000000000000055511151231257827",
        "((((((((((",
        "q[0]",
        "q[0,1]",
        "f(q)",
        "sin",
        "cos()",
    ),
)

TOKEN = re.compile(r"\w+|\*\*|\s+|.", re.DOTALL)


def mutations(seed: int, count: int) -> Iterator[str]:
    """`count` texts, each one of `SOUND` with one to four mistakes; most are invalid, some still have a meaning."""
    chance = random.Random(seed)
    for number in range(count):
        text = SOUND[number % len(SOUND)]
        for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 4))):
            text = chance.choice(MISTAKES)(chance, text)
        yield text


def _flip_bit(chance: random.Random, text: str) -> str:
    place = chance.randrange(len(text) + 1)
    return (
        text[:place]
        + "".join(chr(ord(letter) ^ 1 << chance.randrange(7)) for letter in text[place : place + 1])
        + text[place + 1 :]
    )


def _swap_tokens(chance: random.Random, text: str) -> str:
    tokens = TOKEN.findall(text) or [""]
    i, j = chance.randrange(len(tokens)), chance.randrange(len(tokens))
    tokens[i], tokens[j] = tokens[j], tokens[i]
    return "".join(tokens)


def _replace_token(chance: random.Random, text: str) -> str:
    tokens = TOKEN.findall(text) or [""]
    tokens[chance.randrange(len(tokens))] = chance.choice(TOKEN.findall(chance.choice(SOUND)))
    return "".join(tokens)


def _repeat_piece(chance: random.Random, text: str) -> str:
    start, end = sorted(chance.randrange(len(text) + 1) for _ in range(2))
    return (
        text[:end]
        + chance.choice(("", "+", "*", "**", "("))
        + text[start:end] * chance.choice((1, 1, 2, 5))
        + text[end:]
    )


def _delete_piece(chance: random.Random, text: str) -> str:
    start = chance.randrange(len(text) + 1)
    return text[:start] + text[start + chance.choice((1, 1, 2, 5)) :]


def _insert_hostile(chance: random.Random, text: str) -> str:
    place = chance.randrange(len(text) + 1)
    return text[:place] + chance.choice(HOSTILE) + text[place:]


def _wrap(chance: random.Random, text: str) -> str:
    return chance.choice(
        ("sin({})", "sqrt({})", "-({})", "({})**2", "exp(-({}))", "1/({})", "({})*({})", "({})**({})")
    ).replace("{}", text)


MISTAKES: tuple[Callable[[random.Random, str], str], ...] = (
    _flip_bit,
    _swap_tokens,
    _replace_token,
    _repeat_piece,
    _delete_piece,
    _insert_hostile,
    _wrap,
)
