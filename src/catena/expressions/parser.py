"""Text -> tree, by a small parser of our own: numbers, declared names, + - * / **, listed functions, nothing else."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import NamedTuple, NoReturn

from ..errors import InputError, nearest
from .tree import (
    COMPARISONS,
    CONDITION_FUNCTIONS,
    EXACT_DIGITS,
    FUNCTIONS,
    LOGIC,
    Node,
    Tree,
    Value,
    canonical,
    derivative_cost,
    fold,
)

LONGEST_TEXT = 20_000
LONGEST_SUM = 1_000_000
"""Limit for a text whose terms are differentiated one by one."""

DEEPEST_NESTING = 50
"""Limit for levels of brackets, signs and powers; each takes up to eight Python frames of the usual thousand."""

LARGEST_EXPONENT = 100
"""Limit for a constant exponent over a variable base. Powers of constants are doubles and need only be finite."""

LARGEST_COST = 300_000
"""Limit for `derivative_cost`: gradient and Hessian are computed and written as code within about a second."""

SHOWN = 60
LONGEST_NAMES = 240  # characters of the known names in a message: enough for the fields of any system
COMPONENT = re.compile(r"(?P<array>\w+)\[(?P<index>\d+(,\d+)*)\]")  # a name such as position[7,0]
MOST_COMPARED = 1000

TOKEN = re.compile(
    r"(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[^\W0-9]\w*)"
    r"|(?P<operator>\*\*|<=|>=|[-+*/(),<>\[\]])"
    r"|(?P<space>\s+)"
    r"|(?P<other>.)",
    re.DOTALL,
)

INSTEAD = {
    "^": "powers are written with **",
    "²": "write **2",
    "³": "write **3",
    "−": "write - (the ordinary minus sign)",
    "–": "write - (the ordinary minus sign)",
    "×": "write *",
    "·": "write *",
    "÷": "write /",
    "=": "only < <= > >= compare; an expression has no = sign",
    "!": "only < <= > >= compare",
    "&": "write and",
    "|": "write or",
    ".": "names have no attributes; a decimal point stands next to a digit",
    '"': "an expression holds no quoted text",
    "'": "an expression holds no quoted text",
}

LEVELS = {"or": 1, "and": 2, **dict.fromkeys(COMPARISONS, 4), "+": 5, "-": 5, "*": 6, "/": 6, "**": 8}
NOT, UNARY = 3, 7


class Token(NamedTuple):
    kind: str
    text: str
    column: int


def parse(
    text: str, names: Collection[str], *, what: str = "expression", conditions: bool = False, many_terms: bool = False
) -> Tree:
    """Check a text and parse it into a tree.

    Numbers, declared names, ``+ - * / **``, parentheses, ``pi`` and the functions sin cos tan asin acos atan atan2 sinh
    cosh tanh asinh acosh atanh exp log sqrt. A declared name takes precedence over a constant or function of that name.
    There is no constant ``e``: it is too often a forgotten eccentricity; ``exp(1)`` is the number.

    Parameters
    ----------
    text : at most 20 000 characters, a million if it has many terms
    names : the names that may be used; ``position[3,0]`` (no spaces) allows that component
    what : what the text is to the user, for messages ("energy")
    conditions : the text is a condition: ``< <= > >= and or not``, and also ``abs``
    many_terms : the text may be a long sum, whose terms are differentiated one by one (`catena.expressions.terms`); the
        caller then checks the cost of the second derivatives

    Raises
    ------
    InputError : anything else, a constant without a finite real value, an exponent beyond 100, more than 50 levels of
        brackets, or an expression whose second derivatives would not be found within about a second

    Examples
    --------
    >>> parse("p**2/2 - cos(q)*(1 - p/6)", ["q", "p"]).names
    ('p', 'q')
    """
    if not isinstance(text, str):
        raise InputError(f"{what} is {_short(repr(text))}, not text", where=what, do='write it in quotes, as "q**2/2"')
    longest = LONGEST_SUM if many_terms else LONGEST_TEXT
    if len(text) > longest:
        raise InputError(
            f"{what} has {len(text)} characters; the limit is {longest}",
            where=what,
            do="shorten it, for example with parameters for repeated constants",
        )
    tree = _Parser(text, names, what, conditions).tree()
    if not many_terms:
        _check_cost(tree)
    return tree


def _check_cost(tree: Tree) -> None:
    cost = derivative_cost(tree.nodes)
    if cost > LARGEST_COST:
        raise InputError(
            f"{tree.what} is too involved: its second derivatives have about {cost} operands, the limit is {LARGEST_COST}",
            where=f"{tree.what}:  {_short(' '.join(tree.text.split()), SHOWN)}",
            do="nest and multiply fewer functions, or write it with fewer names",
        )


class _Parser:
    """Precedence climbing over the tokens.

    Each different node is stored once, so equal parts are shared from the start.
    """

    def __init__(self, text: str, names: Collection[str], what: str, conditions: bool) -> None:
        self.text, self.names, self.what, self.conditions = text, frozenset(names), what, conditions
        self.functions = CONDITION_FUNCTIONS if conditions else FUNCTIONS
        self.nodes: list[Node] = []
        self.places: dict[Node, int] = {}
        self.nesting = 0
        self.tokens = self.tokenize()
        self.next = 0

    def tree(self) -> Tree:
        if self.token.kind == "end":
            self.refuse("is empty", 0, "write an expression such as p**2/2 + q**2/2")
        root = self.expression(0)
        if self.token.kind != "end":
            self.refuse_token(self.token)
        if self.conditions and not self.nodes[root].is_condition:
            self.refuse("is a number, not a condition", self.nodes[root].column, "compare it, for example ... > 0")
        return Tree(self.needed(root), self.text, self.what)

    # tokens

    def tokenize(self) -> list[Token]:
        tokens = []
        for match in TOKEN.finditer(self.text):
            kind, word, column = str(match.lastgroup), match[0], match.start()
            sound = 0 if kind == "other" else len(word)
            if kind == "name" and not word.isidentifier():
                # \w also matches characters such as ² that no name has
                sound = next(i for i, letter in enumerate(word) if not (("_" if i else "") + letter).isidentifier())
            if sound < len(word):
                letter = word[sound]
                advice = INSTEAD.get(letter, "remove it")
                self.refuse(f"holds {letter!r}, which no expression knows", column + sound, advice)
            if kind != "space":
                tokens.append(Token(kind, word, column))
        return [*tokens, Token("end", "", len(self.text))]

    @property
    def token(self) -> Token:
        return self.tokens[self.next]

    def take(self) -> Token:
        self.next += 1
        return self.tokens[self.next - 1]

    def expect(self, text: str) -> Token:
        if self.token.text != text:
            self.refuse_token(self.token, f"write {text} here")
        return self.take()

    # grammar

    def expression(self, strength: int) -> int:
        left = self.prefix()
        while True:
            operator = self.token.text if self.token.text not in self.names else ""
            level = LEVELS.get(operator, 0)
            if level <= strength:
                return left
            if level > LEVELS["<"]:
                left = self.arithmetic(left, level)
            elif not self.conditions:
                self.refuse(
                    f"holds {operator!r}, but a number is needed, not a condition", self.token.column, "remove it"
                )
            elif level == LEVELS["<"]:
                left = self.comparison(left)
            else:
                left = self.logic(left, operator, level)

    def prefix(self) -> int:
        token = self.take()
        if token.kind == "number":
            return self.number(token)
        if token.kind == "name":
            return self.name(token)
        if token.text == "(":
            inner = self.nested(0, token)
            self.expect(")")
            return inner
        if token.text == "-":
            return self.make("negative", [self.nested(UNARY, token)], token.column)
        if token.text == "+":
            return self.nested(UNARY, token)
        self.refuse_token(token, "write a number, a name or ( here")

    def nested(self, strength: int, opened: Token) -> int:
        if self.nesting == DEEPEST_NESTING:
            self.refuse(
                f"is nested deeper than {DEEPEST_NESTING} levels",
                opened.column,
                "write it with fewer levels of brackets",
            )
        self.nesting += 1
        inner = self.expression(strength)
        self.nesting -= 1
        return inner

    def arithmetic(self, left: int, level: int) -> int:
        """All operators of one level from left to right, as one n-ary operation; ** alone binds to the right."""
        column = self.token.column
        if level == LEVELS["**"]:
            # the exponent may carry a sign: 2**-x
            return self.make("power", [left, self.nested(UNARY, self.take())], column)
        parts = [left]
        while self.token.kind == "operator" and LEVELS.get(self.token.text) == level:
            operator = self.take()
            right = self.expression(level)
            constant = len(parts) == 1 and self.is_number(parts[0]) and self.is_number(right)
            if operator.text == "-":
                right = self.make("negative", [right], operator.column)
            elif operator.text == "/" and constant:
                # one rounding, as in Python's division; the reciprocal would add a second one
                parts = [self.make("quotient", [parts[0], right], operator.column)]
                continue
            elif operator.text == "/":
                right = self.make("reciprocal", [right], operator.column)
            parts.append(right)
            if constant:
                parts = [self.make("sum" if level == LEVELS["+"] else "product", parts, operator.column)]
        return self.make("sum" if level == LEVELS["+"] else "product", parts, column)

    def comparison(self, left: int) -> int:
        """`a < b`, and `a < b < c` with Python's meaning."""
        links = []
        while self.token.text in COMPARISONS:
            operator = self.take()
            right = self.expression(LEVELS["<"])
            links.append(self.make(operator.text, [left, right], operator.column))
            left = right
        return self.make("and", links, self.nodes[links[0]].column)

    def logic(self, left: int, operator: str, level: int) -> int:
        column, parts = self.token.column, [left]
        while self.token.text == operator:
            self.take()
            parts.append(self.expression(level))
        return self.make(operator, parts, column)

    def number(self, token: Token) -> int:
        digits = token.text
        value: Value = int(digits) if digits.isdigit() and len(digits) <= EXACT_DIGITS else float(digits)
        if value == 0 and any(digit in "123456789" for digit in digits.lower().split("e")[0]):
            self.refuse(f"holds {_short(digits)}, which is too small for a double", token.column, "scale the units")
        try:
            return self.add(Node("number", value=canonical(value), column=token.column))
        except OverflowError:
            self.refuse(f"holds {_short(digits)}, which is too large for a double", token.column, "scale the units")

    def name(self, token: Token) -> int:
        word = token.text
        if self.token.text == "[":
            return self.component(token)
        called = self.token.text == "("
        if word in self.names:
            if called:
                self.refuse(
                    f"calls {word}, which is a declared name here", token.column, f"write {word}*(...) to multiply"
                )
            return self.add(Node("name", value=word, column=token.column))
        if word == "not" and self.conditions:
            return self.make("not", [self.nested(NOT, token)], token.column)
        if called and word in self.functions:
            return self.call(token)
        if word == "pi" and not called:
            return self.add(Node("number", value=math.pi, column=token.column))
        self.refuse_name(token, called)

    def component(self, name: Token) -> int:
        """`position[3, 0]`, listed as `position[3,0]` among the names."""
        self.take()
        indices = []
        while True:
            if not self.token.text.isdecimal():
                self.refuse_token(self.token, "a component is numbered by integers, as in position[3,0]")
            indices.append(self.take().text.lstrip("0") or "0")
            if self.token.text != ",":
                break
            self.take()
        self.expect("]")
        word = f"{name.text}[{','.join(indices)}]"
        if word not in self.names:
            self.refuse_name(name._replace(text=word), False)
        return self.add(Node("name", value=word, column=name.column))

    def call(self, function: Token) -> int:
        opened = self.take()
        arguments: list[int] = []
        while self.token.text != ")" or arguments:
            arguments.append(self.nested(0, opened))
            if self.token.text != ",":
                break
            self.take()
        self.expect(")")
        wanted = self.functions[function.text]
        if len(arguments) != wanted:
            self.refuse(
                f"gives {function.text} {len(arguments)} arguments; it takes {wanted}",
                function.column,
                f"write {function.text}({', '.join('yx'[-wanted:])})",
            )
        return self.make(function.text, arguments, function.column)

    # nodes

    def is_number(self, place: int) -> bool:
        return self.nodes[place].operation == "number"

    def add(self, node: Node) -> int:
        if node not in self.places:
            self.places[node] = len(self.nodes)
            self.nodes.append(node)
        return self.places[node]

    def make(self, operation: str, places: list[int], column: int) -> int:
        """Add an operation; an operation on constants becomes its value."""
        if len(places) == 1 and operation in ("sum", "product", "and", "or"):
            return places[0]
        nodes = [self.nodes[place] for place in places]
        for node in nodes:
            if node.is_condition != (operation in LOGIC):
                wrong = "uses a number as a condition" if operation in LOGIC else "uses a condition as a number"
                self.refuse(f"{wrong} in {operation!r}", column, "use brackets to say what is compared")
        constants = [node.number for node in nodes if node.number is not None]
        if len(constants) == len(nodes) and operation not in COMPARISONS and operation not in LOGIC:
            return self.constant(operation, constants, column)
        if operation == "power":
            self.check_power(nodes[0], nodes[1], column)
        return self.add(Node(operation, tuple(places), column=column))

    def constant(self, operation: str, values: list[Value], column: int) -> int:
        try:
            value = fold(operation, values)
        except (ArithmeticError, ValueError):
            shown = ", ".join(f"{float(value):.6g}" for value in values[:3])
            self.refuse(f"has no finite real value here ({operation} of {shown})", column, "correct the constants")
        return self.add(Node("number", value=value, column=column))

    def check_power(self, base: Node, exponent: Node, column: int) -> None:
        if base.number is not None and base.number <= 0:
            self.refuse(f"raises {float(base.number):.6g} to a variable power", column, "use a positive base")
        if exponent.number is not None and abs(float(exponent.number)) > LARGEST_EXPONENT:
            size = f"{float(exponent.number):.6g}"
            self.refuse(f"holds the power {size}; the limit is {LARGEST_EXPONENT}", column, "use exp(...*log(...))")

    def needed(self, root: int) -> tuple[Node, ...]:
        """The nodes that the root needs, renumbered: folded ones are dropped."""
        needed = {root}
        for place in range(root, -1, -1):
            if place in needed:
                needed.update(self.nodes[place].arguments)
        renumbered = {place: number for number, place in enumerate(sorted(needed))}
        return tuple(
            replace(
                self.nodes[place], arguments=tuple(renumbered[argument] for argument in self.nodes[place].arguments)
            )
            for place in renumbered
        )

    # refusals

    def refuse(self, wrong: str, column: int, do: str) -> NoReturn:
        start = max(0, min(column - 30, len(self.text) - SHOWN))
        shown = "".join(letter if letter.isprintable() else " " for letter in self.text[start : start + SHOWN])
        place = f"{self.what}, column {column + 1}:  "
        caret = " " * (len("  at ") + len(place) + column - start) + "^"
        raise InputError(f"{self.what} {wrong}", where=f"{place}{shown}\n{caret}", do=do)

    def refuse_token(self, token: Token, expected: str = "") -> NoReturn:
        if token.kind == "end":
            self.refuse("ends too early", token.column, expected or "complete it")
        if expected:
            self.refuse(f"has {_short(token.text)!r} where it does not belong", token.column, expected)
        if token.kind in ("number", "name") or token.text == "(":
            self.refuse(f"lacks an operator before {_short(token.text)!r}", token.column, "write * to multiply")
        around = self.text[max(token.column - 1, 0) : token.column + 2]
        comma = len(around) == 3 and around[1] == "," and around[0].isdigit() and around[2].isdigit()
        do = "write numbers with a point, as 0.5" if comma else "remove it, or open a bracket"
        self.refuse(f"has {_short(token.text)!r} where it does not belong", token.column, do)

    def refuse_name(self, token: Token, called: bool) -> NoReturn:
        word = _short(token.text)
        if called:
            advice = f"the functions are {' '.join(self.functions)}{nearest(word, list(self.functions))}"
            self.refuse(f"calls {word}, which is not a known function", token.column, advice)
        if word in CONDITION_FUNCTIONS:
            self.refuse(f"uses the function {word} without (...)", token.column, f"write {word}(...)")
        if word in ("e", "E"):
            advice = f"declare {word} as a parameter, or write exp(1) if you mean the number 2.718..."
        else:
            known = sorted(self.names)[:MOST_COMPARED]
            advice = f"use one of: {_short(' '.join(_gather(self.names)), LONGEST_NAMES)}{nearest(word, known)}"
            if not self.names <= {"t"} and not any("[" in name for name in known):  # else undeclared
                advice += "; others are declared: numbers in parameters, coordinates of a Hamiltonian in q and p"
        self.refuse(f"uses the unknown name {word}", token.column, advice)


def _gather(names: Iterable[str]) -> list[str]:
    """The names in order, components of an array as one: q[0..2], not q[0] q[1] q[2]."""
    last: dict[tuple[str, int], list[int]] = {}
    gathered = []
    for name in names:
        found = COMPONENT.fullmatch(name)
        if found is None:
            gathered.append(name)
            continue
        index = [int(part) for part in found["index"].split(",")]
        array = (found["array"], len(index))
        last[array] = [max(pair) for pair in zip(index, last.get(array, index), strict=True)]
    gathered += [f"{array}[{','.join(f'0..{most}' for most in ends)}]" for (array, _), ends in last.items()]
    return sorted(gathered)


def _short(text: str, length: int = 30) -> str:
    return text if len(text) <= length else text[: length - 3] + "..."
