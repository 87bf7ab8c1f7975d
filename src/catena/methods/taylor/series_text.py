"""Kernels that compute the Taylor series of a recorded field [jorba2005], [biscani2021].

With z(t + h) = sum z_k h^k each operation is a convolution of old coefficients plus a few terms of the newest order,

    c = a b:   c_n = a_0 b_n + a_n b_0 + S,                      S = sum_{k=1..n-1} a_k b_{n-k}
    c = a/b:   c_n = (a_n - b_n c_0 - S)/b_0,                    S = sum b_k c_{n-k}
    c = a^s:   c_n = ((s + 1)/n S1 - S2 + s a_n c_0)/a_0,        S1 = sum (k a_k) c_{n-k},  S2 = sum a_k c_{n-k}
    c = e^a:   c_n = a_n c_0 + S/n,                              S = sum (k a_k) c_{n-k};   sin, cos alike
    c' = a'/d: c_n = (a_n - S/n)/d_0,                            S = sum (k c_k) d_{n-k}

and z_{n+1} = rate_n/(n + 1). All sums of a field are lanes of one loop over k, in fused multiply-adds: the same bits on every machine.

The table has a row for each order: lanes A, lanes B, the series, 1/n; and one row more where the sums are put, since only what is
stored side by side becomes vector instructions. The newest row, stored a moment ago, is not loaded again: the loop takes k = 2 .. n - 2,
the rest is in scalars.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ...errors import CapabilityError
from .series_nodes import ARCS, PAIRS, Node, Recorded

MOST_LANES = 512  # a text of some thousand lines; compiling takes longer than in proportion
BLOCK = 32  # lanes of one loop: their sums stay in registers
SHORT = 8  # lanes of a loop that takes two orders at once, as one sum alone would wait for itself
EVALUATED = 8  # variables evaluated at once
SIGNS = {"sin": "", "cos": "-", "sinh": "", "cosh": ""}


@dataclass(frozen=True)
class Layout:
    """A row of the table: `lanes` of A, as many of B, the series, 1/n."""

    lanes: int
    series: int
    inverse: int
    width: int


@dataclass(frozen=True)
class Operand:
    """A factor of a lane: the coefficients of a node, times their order if `weighted`."""

    place: int
    weighted: bool = False

    @property
    def name(self) -> str:
        return f"{'k' if self.weighted else 'x'}{self.place}"


Lane = tuple[Operand, Operand]


class Writer:
    """Writes the kernels of one recorded field."""

    def __init__(self, recorded: Recorded) -> None:
        self.recorded = recorded
        self.nodes = recorded.nodes
        self.used = self._used()
        self.lanes: list[Lane] = []
        self.first: dict[int, int] = {}  # place of an operation -> its first lane
        for place in self._series():
            self.first[place] = len(self.lanes)
            self.lanes += self._lanes_of(place, self.nodes[place])
        if len(self.lanes) > MOST_LANES:
            raise CapabilityError(
                f"its equations have {len(self.lanes)} products, more than the {MOST_LANES} whose series are compiled"
            )
        self.operands = list(dict.fromkeys(operand for lane in self.lanes for operand in lane))

    @property
    def layout(self) -> Layout:
        """Rows begin where a vector may: their width is a multiple of 64 bytes."""
        lanes = _padded(len(self.lanes), 4 if len(self.lanes) > SHORT else SHORT)
        variables = _padded(len(self.recorded.rates), 4)
        return Layout(lanes, 2 * lanes, 2 * lanes + variables, _padded(2 * lanes + variables + 1, 8))

    def _used(self) -> set[int]:
        """Operations that the rates depend on, with the partners of sines."""
        waiting, used = list(self.recorded.rates), set()
        partner = {(node.operation, node.arguments): place for place, node in enumerate(self.nodes)}
        while waiting:
            place = waiting.pop()
            if place in used:
                continue
            used.add(place)
            node = self.nodes[place]
            waiting += node.arguments
            if node.operation in PAIRS and not self.recorded.constant[place]:
                waiting.append(partner[PAIRS[node.operation], node.arguments])
        return used

    def _series(self) -> Iterator[int]:
        """Used operations that change along a solution, in order."""
        return (k for k in range(len(self.nodes)) if k in self.used and not self.recorded.constant[k])

    def _partner(self, node: Node) -> int:
        other = PAIRS[node.operation]
        return next(
            k for k in self.used if (self.nodes[k].operation, self.nodes[k].arguments) == (other, node.arguments)
        )

    def _lanes_of(self, place: int, node: Node) -> list[Lane]:
        own, arguments = Operand(place), [Operand(k) for k in node.arguments]
        weighted = [Operand(k, True) for k in node.arguments]
        match node.operation:
            case "multiply":
                return [(arguments[0], arguments[1])]
            case "divide":
                return [(arguments[1], own)]
            case "power":
                return [(weighted[0], own), (arguments[0], own)]
            case "exp":
                return [(weighted[0], own)]
            case "atan2":
                lanes = [(weighted[0], arguments[1]), (weighted[1], arguments[0]), (Operand(place, True), arguments[2])]
                return lanes
            case operation if operation in PAIRS:
                return [(weighted[0], Operand(self._partner(node)))]
            case operation if operation in ARCS:
                return [(Operand(place, True), arguments[1])]
        return []

    # Values and constants -------------------------------------------------------------------------------------------------

    def _value(self, place: int) -> str:
        """A constant or the current coefficient of a series."""
        node = self.nodes[place]
        if isinstance(node.value, float) and node.operation == "number":
            return repr(node.value) if node.value >= 0.0 else f"({node.value!r})"
        return f"{'c' if self.recorded.constant[place] else 'x'}{place}"

    def _plain(self, node: Node) -> str:
        """The value of an operation."""
        a = [self._value(k) for k in node.arguments]
        match node.operation:
            case "variable":
                assert isinstance(node.value, int)
                return f"t[{self.layout.series + node.value}]"
            case "parameter":
                return str(node.value)
            case "add" | "subtract" | "multiply" | "divide":
                sign = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}[node.operation]
                return f"{a[0]} {sign} {a[1]}"
            case "scale":
                return f"{a[0]} * {a[1]}"
            case "negative":
                return f"-{a[0]}"
            case "power":
                return f"math.sqrt({a[0]})" if a[1] == "0.5" else self._power(a[0], a[1])
            case "atan2":
                return f"math.atan2({a[0]}, {a[1]})"
        return f"math.{node.operation}({a[0]})"

    def _power(self, base: str, exponent: str) -> str:
        """Roots of whole powers without `pow`: the same bits everywhere."""
        try:
            halves = 2.0 * float(exponent.strip("()"))
        except ValueError:
            halves = 0.5
        if not halves.is_integer() or abs(halves) > 9:
            return f"math.pow({base}, {exponent})"
        whole = " * ".join([base] * (abs(int(halves)) // 2) + [f"math.sqrt({base})"])
        return whole if halves > 0 else f"1.0 / ({whole})"

    def _divisor(self, node: Node) -> int | None:
        """The operation by whose value the newest coefficient is divided."""
        if node.operation == "power":
            return node.arguments[0]
        divides = node.operation in ("divide", "atan2", *ARCS)
        return node.arguments[-1] if divides else None

    # Coefficients of higher order -----------------------------------------------------------------------------------------

    def _newest(self, place: int, total: Callable[[int], str]) -> str:
        """The coefficient of order n from the older ones; total(l) is the sum of lane l."""
        node = self.nodes[place]
        a = list(node.arguments)
        s = total(self.first[place]) if self._lanes_of(place, node) else ""
        match node.operation:
            case "add" | "subtract" | "negative" | "scale":
                return self._linear(node)
            case "multiply" if a[0] == a[1]:
                return f"multiply_add(2.0 * x{a[0]}_0, x{a[0]}, {s})"
            case "multiply":
                return f"multiply_add(x{a[0]}, x{a[1]}_0, multiply_add(x{a[0]}_0, x{a[1]}, {s}))"
            case "divide":
                inner = f"multiply_add(x{a[1]}, x{place}_0, {s})"
                over = f"-{inner}" if self.recorded.constant[a[0]] else f"({self._value(a[0])} - {inner})"
                return f"{over} * i{a[1]}"
            case "power":
                exponent, second = self._value(a[1]), total(self.first[place] + 1)
                inner = f"multiply_add({exponent} * x{place}_0, x{a[0]}, -{second})"
                return f"multiply_add(({exponent} + 1.0) * r, {s}, {inner}) * i{a[0]}"
            case "exp":
                return f"multiply_add(x{a[0]}, x{place}_0, r * {s})"
            case "atan2":
                second, third = total(self.first[place] + 1), total(self.first[place] + 2)
                newest = f"multiply_add({self._moving(a[0])}, {self._start(a[1])}, -{self._moving(a[1])} * {self._start(a[0])})"
                return f"multiply_add(r, {s} - {second} - {third}, {newest}) * i{a[2]}"
            case operation if operation in PAIRS:
                return f"{SIGNS[operation]}multiply_add(x{a[0]}, x{self._partner(node)}_0, r * {s})"
        sign = "-" if node.operation == "acos" else ""
        return f"multiply_add(-r, {s}, {sign}x{a[0]}) * i{a[1]}"

    def _moving(self, place: int) -> str:
        return "0.0" if self.recorded.constant[place] else f"x{place}"

    def _start(self, place: int) -> str:
        return self._value(place) if self.recorded.constant[place] else f"x{place}_0"

    def _linear(self, node: Node) -> str:
        """Sums; a scaled term is fused with what it is added to, and a constant has no higher coefficients."""
        a = node.arguments
        if node.operation == "negative":
            return f"-x{a[0]}"
        if node.operation == "scale":
            return f"{self._value(a[0])} * x{a[1]}"
        minus = "-" if node.operation == "subtract" else ""
        if self.recorded.constant[a[1]]:
            return f"x{a[0]}"
        if self.recorded.constant[a[0]]:
            return f"{minus}x{a[1]}"
        for one, other, sign, rest in ((a[1], a[0], minus, ""), (a[0], a[1], "", minus)):
            inner = self.nodes[one]
            if inner.operation == "scale":
                return f"multiply_add({sign}{self._value(inner.arguments[0])}, x{inner.arguments[1]}, {rest}x{other})"
        return f"x{a[0]} {minus or '+'} x{a[1]}"

    def _order(self, n: str, total: Callable[[int], str]) -> list[str]:
        """Lines for the coefficients of order n of everything but the variables, which are known."""
        lines = []
        for place in self._series():
            if self.nodes[place].operation != "variable":
                lines.append(f"x{place} = {self._newest(place, total)}")
            if Operand(place, True) in self.operands:
                lines.append(f"k{place} = {n} * x{place}")
        return lines

    def _rates(self, row: str, factor: str) -> list[str]:
        """Lines for the next order of the variables; `row` is the text of where its row begins."""
        series, lines = self.layout.series, []
        variables = {self.nodes[k].value: k for k in self._series() if self.nodes[k].operation == "variable"}
        for k, place in enumerate(self.recorded.rates):
            fixed = self.recorded.constant[place]
            rate = self._value(place) if not fixed or factor == "1.0" else "0.0"
            lines.append(f"n{k} = {rate}" if factor == "1.0" else f"n{k} = {factor} * {rate}")
        lines += [f"t[{row}{series + k}] = n{k}" for k in range(len(self.recorded.rates))]
        return lines + [f"x{place} = n{k}" for k, place in variables.items()]

    def _put(self, row: str) -> list[str]:
        """Lines that store the factors of all lanes, and keep them as those of the order before."""
        count, lanes = self.layout.lanes, self.lanes
        lines = []
        for side in (0, 1):
            for k in range(count):
                value = lanes[k][side].name if k < len(lanes) else "0.0"
                lines.append(f"t[{row}{side * count + k}] = {value}")
        return lines + [f"{operand.name}_m = {operand.name}" for operand in self.operands]

    def coefficients(self) -> str:
        """coefficients(t, order, par): the series in the table t, from its row 0; order 3 at least."""
        lines = ["def coefficients(t, order, par):"]
        body = list(self._constants())
        for place in self._series():
            body.append(f"x{place} = {self._plain(self.nodes[place])}")
        body += [f"i{k} = 1.0 / x{k}" for k in dict.fromkeys(self._divisors())]
        starts = [k for k in self._series() if self._needs_start(k)]
        body += [f"x{k}_0 = x{k}" for k in starts]
        width = self.layout.width
        body += self._rates(f"{width} + ", "1.0")
        body += ["r = 1.0", *self._order("1.0", lambda _: "0.0")]
        body += [f"{operand.name}_1 = {operand.name}" for operand in self.operands]
        body += [*self._put(f"{width} + "), *self._rates(f"{2 * width} + ", "0.5")]
        body += ["r = 0.5", *(f"a{k} = {a.name}_1 * {b.name}_1" for k, (a, b) in enumerate(self.lanes))]
        body += self._order("2.0", lambda lane: f"a{lane}")
        body += [
            *self._put(f"{2 * width} + "),
            *self._rates(f"{3 * width} + ", f"t[{3 * width + self.layout.inverse}]"),
        ]
        body.append("for n in range(3, order):")
        body += [f"    {line}" for line in self._loop()]
        return _counted("\n".join([*lines, *(f"    {line}" for line in body)]))

    def _constants(self) -> Iterator[str]:
        for k, node in enumerate(self.nodes):
            if k in self.used and self.recorded.constant[k] and node.operation != "number":
                yield f"c{k} = {self._plain(node)}"

    def _divisors(self) -> list[int]:
        found = [self._divisor(self.nodes[k]) for k in self._series()]
        return [k for k in found if k is not None]

    def _needs_start(self, place: int) -> bool:
        """Whether a coefficient of order 0 stands in the formula of some operation."""
        return any(not operand.weighted and operand.place == place for operand in self.operands) or any(
            place in self.nodes[k].arguments or place == k
            for k in self._series()
            if self.nodes[k].operation not in ("add", "subtract", "negative", "scale", "variable")
        )

    def _loop(self) -> list[str]:
        """Order n from 3 on: old terms in a loop over lanes, then the terms of orders 1 and n - 1, then those of n."""
        layout, lines = self.layout, []
        lines += [
            f"here = n * {layout.width}",
            f"r = t[here + {layout.inverse}]",
            f"sums = (order + 1) * {layout.width}",
        ]
        for begin in range(0, layout.lanes, BLOCK):
            lines += self._block(begin, min(begin + BLOCK, layout.lanes))
        for k, (a, b) in enumerate(self.lanes):
            old = f"t[sums + {k}]" if layout.lanes > BLOCK else f"a{k}"
            if a == b:
                lines.append(f"a{k} = multiply_add(2.0 * {a.name}_m, {a.name}_1, {old})")
            else:
                inner = f"multiply_add({a.name}_1, {b.name}_m, {old})"
                lines.append(f"a{k} = multiply_add({a.name}_m, {b.name}_1, {inner})")
        lines += self._order("n", lambda lane: f"a{lane}")
        lines += [*self._put("here + "), f"after = here + {layout.width}"]
        return lines + self._rates("after + ", f"t[after + {layout.inverse}]")

    def _block(self, begin: int, end: int) -> list[str]:
        """Sums over k = 2 .. n - 2 of lanes `begin` to `end`, stored in the last row."""
        layout, lanes = self.layout, range(begin, end)
        lines = [f"a{k} = 0.0" for k in lanes]

        def terms(total: str, shift: int) -> list[str]:
            first = [f"row + {shift * layout.width + k}" for k in lanes]
            second = [f"other + {layout.lanes + k - shift * layout.width}" for k in lanes]
            return [
                f"{total}{k} = multiply_add(t[{a}], t[{b}], {total}{k})"
                for k, a, b in zip(lanes, first, second, strict=True)
            ]

        places = [f"row = k * {layout.width}", f"other = here - k * {layout.width}"]
        if end - begin > SHORT:
            lines.append("for k in range(2, n - 1):")
            lines += [f"    {line}" for line in (*places, *terms("a", 0))]
        else:
            lines += [
                *(f"b{k} = 0.0" for k in lanes),
                "half = (n - 3) // 2",
                "for pair in range(half):",
                "    k = 2 + 2 * pair",
            ]
            lines += [f"    {line}" for line in (*places, *terms("a", 0), *terms("b", 1))]
            lines += [
                "if 2 + 2 * half < n - 1:",
                "    k = n - 2",
                *(f"    {line}" for line in (*places, *terms("a", 0))),
            ]
            lines += [f"a{k} = a{k} + b{k}" for k in lanes]
        return lines + [f"t[sums + {k}] = a{k}" for k in lanes]

    def increments(self) -> str:
        """increments(t, order, h, out): z(h) - z(0) of all variables, by Horner's rule on even and odd powers side by side."""
        layout, count = self.layout, len(self.recorded.rates)
        body = ["square = h * h", "odd = order - 1 + order % 2", "even = order - order % 2"]
        for begin in range(0, count, EVALUATED):
            lanes = range(begin, min(begin + EVALUATED, count))
            body.append(f"row = odd * {layout.width}")
            body += [f"a{k} = t[row + {layout.series + k}]" for k in lanes]
            body.append(f"row = even * {layout.width}")
            body += [f"b{k} = t[row + {layout.series + k}]" for k in lanes]
            for letter, top, rounds in (("a", "odd", "(odd - 1) // 2"), ("b", "even", "(even - 2) // 2")):
                body += [f"for j in range({rounds}):", f"    row = ({top} - 2 - 2 * j) * {layout.width}"]
                body += [
                    f"    {letter}{k} = multiply_add({letter}{k}, square, t[row + {layout.series + k}])" for k in lanes
                ]
            body += [f"out[{k}] = h * multiply_add(b{k}, h, a{k})" for k in lanes]
        return _counted("\n".join(["def increments(t, order, h, out):", *(f"    {line}" for line in body)]))


def _counted(text: str) -> str:
    """The text with indices that have no sign; those that are numbers need none."""
    return re.sub(r"\bt\[([^]]*[a-z][^]]*)\]", r"t[counted(\1)]", text)


def _padded(count: int, step: int) -> int:
    return -(-max(count, 1) // step) * step
