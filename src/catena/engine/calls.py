"""How the functions of a compiled program call each other: what is inlined, and what is passed.

A function with a single call site is inlined there: this takes no more code, and a compiler that sees both functions
keeps numbers in registers (steps of linkages take four fifths of the time). The compiler would not do this on its own,
because it does not know that there is only one call site.

A function is passed only those arrays of `par` that it, or a function that it calls, reads. An array is at least seven
numbers in every call, and in every signature that is type-checked. Besides, a function that takes few arrays is the
same function in more programs, so it is compiled once for all of them (`catena.engine.sharing`): programs compile in
three quarters of the time.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from .collector import Part

WHOLE = re.compile(r"\bpar\b(?!\.)")
CALL = re.compile(r"(\w+)\(")
NAME_BEFORE = re.compile(r"(\w+)\($")
UNREAD = "0"  # replaces `par` in calls of functions that read none of it
NO_ARRAYS: frozenset[str] = frozenset()


def within_their_callers(parts: Sequence[Part]) -> list[Part]:
    """The same functions, those with a single call site marked to be inlined. The last one is called from outside."""
    calls: Counter[str] = Counter()
    for part in parts:
        calls.update(_find_called(part.text))
    return [
        replace(part, mark="within") if part.mark == "fn" and calls[part.name] == 1 and part is not parts[-1] else part
        for part in parts
    ]


@functools.lru_cache(maxsize=4096)
def _find_called(text: str) -> tuple[str, ...]:
    return tuple(CALL.findall(text.partition("\n")[2]))


def narrow(parts: Sequence[Part], types: Mapping[str, str]) -> tuple[list[str], list[Part]]:
    """Lines that define tuples of arrays of `par` (types given by name), and the functions, rewritten to take these.

    The last function, which is called from outside, takes all of `par`.
    """
    needs: dict[str, frozenset[str]] = {}
    tuples: dict[frozenset[str], str] = {}
    made = []
    for part in parts:
        takes_par = part.mark != "table" and WHOLE.search(part.text.partition("\n")[0]) is not None
        if not takes_par:
            made.append(part)
            continue
        calls = _calls_with_par(part.text)
        own = part.parameters.union(*(needs.get(callee, NO_ARRAYS) for _, callee in calls))
        if any(callee not in needs for _, callee in calls) or part is parts[-1]:
            own = frozenset(types)  # it passes `par` to a function that is not known here
        needs[part.name] = own
        made.append(replace(part, text=_with_fewer(part.text, calls, own, needs, tuples, types)))
    lines = [
        f'{name} = namedtuple("{name}", {tuple(array for array in types if array in arrays)})'
        for arrays, name in tuples.items()
    ]
    return lines, made


@functools.lru_cache(maxsize=4096)
def _calls_with_par(text: str) -> tuple[tuple[int, str], ...]:
    """Where all of `par` is passed as an argument, and to which function."""
    body = text.index("\n") + 1
    found = []
    for match in WHOLE.finditer(text, body):
        place, depth = match.start(), 0
        while depth >= 0 and place > body:  # otherwise it is not an argument
            place -= 1
            depth += (text[place] in ")]") - (text[place] in "([")
        callee = NAME_BEFORE.search(text, body, place + 1)
        found.append((match.start(), callee[1] if callee else ""))
    return tuple(found)


def _with_fewer(
    text: str,
    calls: Sequence[tuple[int, str]],
    own: frozenset[str],
    needs: Mapping[str, frozenset[str]],
    tuples: dict[frozenset[str], str],
    types: Mapping[str, str],
) -> str:
    """The text of a function that takes these arrays and passes to each callee the arrays that it needs."""
    pieces, end = [], 0
    for place, callee in calls:
        wanted = needs.get(callee, own)
        if wanted == own:
            continue
        pieces += [text[end:place], _tuple_of(wanted, tuples, types)]
        end = place + len("par")
    return "".join([*pieces, text[end:]])


def _tuple_of(wanted: frozenset[str], tuples: dict[frozenset[str], str], types: Mapping[str, str]) -> str:
    """The expression that selects some arrays of `par`."""
    if not wanted:
        return UNREAD
    arrays = [name for name in types if name in wanted]
    if wanted not in tuples:  # numba compares namedtuple types by name: it must differ if and only if the arrays differ
        described = repr([(name, types[name]) for name in arrays])
        tuples[wanted] = f"Parameters_{hashlib.sha256(described.encode()).hexdigest()[:12]}"
    return f"{tuples[wanted]}({', '.join(f'par.{name}' for name in arrays)})"
