"""Kernels that compute the Taylor series of a recorded field [jorba2005], [biscani2021].

With z(t + h) = sum z_k h^k each operation is a convolution of old coefficients plus a few terms of the newest order,

    c = a b:   c_n = a_0 b_n + a_n b_0 + S,                      S = sum_{k=1..n-1} a_k b_{n-k}
    c = a/b:   c_n = (a_n - b_n c_0 - S)/b_0,                    S = sum b_k c_{n-k}
    c = a^s:   c_n = ((s + 1)/n S1 - S2 + s a_n c_0)/a_0,        S1 = sum (k a_k) c_{n-k},  S2 = sum a_k c_{n-k}
    c = e^a:   c_n = a_n c_0 + S/n,                              S = sum (k a_k) c_{n-k};   sin, cos alike
    c' = a'/d: c_n = (a_n - S/n)/d_0,                            S = sum (k c_k) d_{n-k}

and z_{n+1} = rate_n/(n + 1). All sums of a field are computed side by side in one loop, four to a vector
(`series_lanes`), with fused multiply-adds: the same bits on every machine.

The table has a row for each order n: the coefficients of the variables, then those of the other factors. Values are
loaded exactly as they were stored, four at a time, so that no load waits for a store; the newest row is still in
registers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from ...errors import CapabilityError
from .series_lanes import FOUR, Group, Lane, Layout, Operand
from .series_nodes import ARCS, PAIRS, Node, Recorded

MOST_LANES = 512  # a text of some thousand lines; beyond it the compile time grows faster than the text
BLOCK = 12  # groups in one loop: their sums stay in registers
FEW = 4  # groups, up to which the newest terms are faster one by one, because fours must be joined and split
EVALUATED = 2  # groups of variables evaluated at once
SIGNS = {"sin": "", "cos": "-", "sinh": "", "cosh": ""}


class Writer:
    """Writes the kernels of one recorded field."""

    def __init__(self, recorded: Recorded) -> None:
        self.recorded = recorded
        self.nodes = recorded.nodes
        self.used = self._find_used()
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
        self.layout = Layout.of(self._variables(), self.lanes)

    def _variables(self) -> list[Operand | None]:
        """The variables by number; None for one that no equation contains."""
        found: list[Operand | None] = [None] * len(self.recorded.rates)
        for place in self._series():
            value = self.nodes[place].value
            if self.nodes[place].operation == "variable" and isinstance(value, int):
                found[value] = Operand(place)
        return found

    def _find_used(self) -> set[int]:
        """Operations on which the rates depend, with the partners of sines."""
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
                return f"t[{node.value}]"
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
        """Roots of whole powers without `pow`: the same bits on every machine."""
        try:
            halves = 2.0 * float(exponent.strip("()"))
        except ValueError:
            halves = 0.5
        if not halves.is_integer() or abs(halves) > 9:
            return f"math.pow({base}, {exponent})"
        whole = " * ".join([base] * (abs(int(halves)) // 2) + [f"math.sqrt({base})"])
        return whole if halves > 0 else f"1.0 / ({whole})"

    def _divisor(self, node: Node) -> int | None:
        """The operation whose value divides the newest coefficient."""
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
            case "multiply" if self._is_whole(place):
                return s
            case "multiply" if a[0] == a[1]:
                return f"multiply_add(2.0 * x{a[0]}_0, x{a[0]}, {s})"
            case "multiply":  # the later of the two last, because the following operations wait for it
                return f"multiply_add(x{a[0]}_0, x{a[1]}, multiply_add(x{a[0]}, x{a[1]}_0, {s}))"
            case "divide":
                older = f"-{s}" if self.recorded.constant[a[0]] else f"{self._value(a[0])} - {s}"
                return f"multiply_add(-x{place}_0, x{a[1]}, {older}) * i{a[1]}"
            case "power":
                exponent, second = self._value(a[1]), total(self.first[place] + 1)
                older = f"multiply_add(({exponent} + 1.0) * r, {s}, -{second})"
                return f"multiply_add({exponent} * x{place}_0, x{a[0]}, {older}) * i{a[0]}"
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
        """Sums; a scaled term is fused with the addition, and a constant has no higher coefficients."""
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
        """Lines for the coefficients of order n of everything but the variables, whose coefficients are known."""
        lines = []
        for place in self._series():
            if self.nodes[place].operation != "variable":
                lines.append(f"x{place} = {self._newest(place, total)}")
            if Operand(place, True) in self.operands:
                lines.append(f"k{place} = {n} * x{place}")
        return lines

    def _is_whole(self, place: int) -> bool:
        """Whether the sums of an operation include the terms of the newest order, as those of variables do."""
        groups = [self.layout.where[lane][0] for lane in self._lanes_of(place, self.nodes[place])]
        return all(self._is_summed(self.layout.groups[group]) for group in groups)

    def _is_summed(self, group: Group) -> bool:
        """Whether the terms of the newest order are added to its sums."""
        return len(self.layout.groups) > FEW and self.layout.is_of_variables(group)

    def _rates(self, row: str, factor: str) -> list[str]:
        """Lines for the next order of the variables; `row` is the text for the index where its row begins."""
        lines = []
        for k, place in enumerate(self.recorded.rates):
            fixed = self.recorded.constant[place]
            rate = self._value(place) if not fixed or not factor else "0.0"
            lines.append(f"n{k} = {factor}{rate}")
        variables = {self.nodes[k].value: k for k in self._series() if self.nodes[k].operation == "variable"}
        lines += self._store(row, range(0, self.layout.variables, FOUR), [f"n{k}" for k in range(len(lines))])
        return lines + [f"x{place} = n{k}" for k, place in variables.items()]

    def _put(self) -> list[str]:
        """Lines that store the factors other than variables, and keep what the next order needs."""
        layout = self.layout
        names = {column: operand.name for operand, column in layout.columns.items()}
        lines = self._store("here + ", layout.others, [names.get(k, "0.0") for k in range(layout.used)])
        alone = {group.first for group in layout.groups if not group.abreast and group.first >= layout.variables}
        return lines + [f"{names[column]}_m = {names[column]}" for column in sorted(alone)]

    def _store(self, row: str, begins: range, names: list[str]) -> list[str]:
        """Lines that store columns, four at a time, and keep these vectors in local variables."""
        lines = []
        for begin in begins:
            four = [*names[begin : begin + FOUR], *["0.0"] * FOUR][:FOUR]
            lines += [f"e{begin} = join_four({', '.join(four)})", f"store_four(t, {row}{begin}, e{begin})"]
        return lines

    def coefficients(self) -> str:
        """coefficients(t, order, inverses, par): the series into t, from its row 0; inverses[n] is 1/n."""
        body = list(self._constants())
        for place in self._series():
            body.append(f"x{place} = {self._plain(self.nodes[place])}")
        body += [f"i{k} = 1.0 / x{k}" for k in dict.fromkeys(self._divisors())]
        body += [f"x{k}_0 = x{k}" for k in self._series() if self._needs_start(k)]
        body += [*self._rates(f"{self.layout.width} + ", ""), *self._first_order(), "only = 0.0"]
        body += ["for n in range(2, order):", *(f"    {line}" for line in self._loop())]
        return _count_indices(
            "\n".join(["def coefficients(t, order, inverses, par):", *(f"    {line}" for line in body)])
        )

    def _constants(self) -> Iterator[str]:
        for k, node in enumerate(self.nodes):
            if k in self.used and self.recorded.constant[k] and node.operation != "number":
                yield f"c{k} = {self._plain(node)}"

    def _divisors(self) -> list[int]:
        found = [self._divisor(self.nodes[k]) for k in self._series()]
        return [k for k in found if k is not None]

    def _needs_start(self, place: int) -> bool:
        """Whether the formula of some operation contains a coefficient of order 0."""
        return any(not operand.weighted and operand.place == place for operand in self.operands) or any(
            place in self.nodes[k].arguments or place == k
            for k in self._series()
            if self.nodes[k].operation not in ("add", "subtract", "negative", "scale", "variable")
        )

    def _first_order(self) -> list[str]:
        """Order 1, which has no older terms."""
        lines = [f"here = {self.layout.width}", "r = 1.0"]
        for k, group in enumerate(self.layout.groups):
            lines += [f"v{k} = same_four(0.0)"]
            if self._is_summed(group):
                lines += self._newest_terms(k, group)
        return lines + self._finish("1.0", "0.5 * ")

    def _loop(self) -> list[str]:
        """Orders n >= 2: old terms in a loop over groups of lanes, then those of orders 1 and n - 1, then of n."""
        layout = self.layout
        lines = [f"here = n * {layout.width}", f"before = here - {layout.width}", "r = inverses[counted(n)]"]
        lone = all(map(layout.is_of_variables, layout.groups))  # then no row is late: it was stored an order ago
        for begin in range(0, len(layout.groups), BLOCK):
            lines += self._block(range(begin, min(begin + BLOCK, len(layout.groups))), 1 if lone else 2)
        for k, group in enumerate(layout.groups):
            lines += [] if lone else self._late_terms(k, group)
            if self._is_summed(group):
                lines += self._newest_terms(k, group)
        return [*lines, "only = 1.0", *self._finish("n", "inverses[counted(n + 1)] * ")]

    def _finish(self, n: str, factor: str) -> list[str]:
        """Lines for the coefficients of order n from the sums, and for the next order of the variables."""
        parts = [", ".join(f"a{k}_{place}" for place in range(FOUR)) for k in range(len(self.layout.groups))]
        lines = [f"{part} = parts_of_four(v{k})" for k, part in enumerate(parts)]
        lines += [*self._order(n, self._total), *self._put(), f"after = here + {self.layout.width}"]
        return lines + self._rates("after + ", factor)

    def _total(self, lane: int) -> str:
        """The name of the sum of a lane."""
        group, place = self.layout.where[self.lanes[lane]]
        return f"a{group}_{place}"

    def _newest_terms(self, k: int, group: Group) -> list[str]:
        """Lines for a_n b_0 + a_0 b_n of a group of variables; the newest are still in registers."""
        first, second = group.first, group.second
        if group.abreast:
            pairs = (f"e{first}", f"load_four(t, {second})"), (f"load_four(t, {first})", f"e{second}")
        else:
            operand = next(operand for operand, column in self.layout.columns.items() if column == first)
            pairs = (f"same_four({operand.name})", f"load_four(t, {second})"), (f"load_same(t, {first})", f"e{second}")
        return [f"v{k} = fuse_four({a}, {b}, v{k})" for a, b in pairs]

    def _late_terms(self, k: int, group: Group) -> list[str]:
        """Lines for a_1 b_{n-1} + a_{n-1} b_1; the newest row is still in registers. For n = 2, only one term."""
        layout, one = self.layout, self.layout.width
        names = {column: operand.name for operand, column in layout.columns.items()}

        def four(column: int) -> str:
            return f"load_four(t, before + {column})" if column < layout.variables else f"e{column}"

        first, second = group.first, group.second
        if group.abreast:
            old = f"load_four(t, {one + first})"
            late = f"multiply_four(same_four(only), {four(first)})"
        else:
            old = f"load_same(t, {one + first})"
            number = f"t[before + {first}]" if first < layout.variables else f"{names[first]}_m"
            late = f"same_four(only * {number})"
        return [
            f"v{k} = fuse_four({old}, {four(second)}, v{k})",
            f"v{k} = fuse_four({late}, load_four(t, {one + second}), v{k})",
        ]

    def _block(self, block: range, begin: int) -> list[str]:
        """Sums over k = begin .. n - begin of some groups."""
        groups = self.layout.groups
        lines = [f"v{g} = same_four(0.0)" for g in block]
        lines += [
            f"for k in range({begin}, n - {begin - 1}):",
            f"    row = k * {self.layout.width}",
            "    other = here - row",
        ]
        loads = {
            f"s{groups[g].first}": f"load_same(t, row + {groups[g].first})" for g in block if not groups[g].abreast
        }
        loads |= {f"f{groups[g].first}": f"load_four(t, row + {groups[g].first})" for g in block if groups[g].abreast}
        loads |= {f"o{groups[g].second}": f"load_four(t, other + {groups[g].second})" for g in block}
        lines += [f"    {name} = {load}" for name, load in loads.items()]
        for g in block:
            first = f"{'f' if groups[g].abreast else 's'}{groups[g].first}"
            lines.append(f"    v{g} = fuse_four({first}, o{groups[g].second}, v{g})")
        return lines

    def arrival(self) -> str:
        """arrive(t, order, h, low, z, e): the state at h into z + e, from row 0 and its compensation `low`.

        Horner's rule on even and odd powers side by side; the increment is added as in `summation.add`.
        """
        body = [
            "square = same_four(h * h)",
            "wide = same_four(h)",
            "odd = order - 1 + order % 2",
            "even = order - order % 2",
        ]
        begins = list(range(0, self.layout.variables, FOUR))
        for k in range(0, len(begins), EVALUATED):
            body += self._evaluate(begins[k : k + EVALUATED])
        return _count_indices("\n".join(["def arrive(t, order, h, low, z, e):", *(f"    {line}" for line in body)]))

    def _evaluate(self, begins: list[int]) -> list[str]:
        """Lines for some groups of variables: all reads before all writes, because z may be t and e may be low."""
        width, count = self.layout.width, len(self.recorded.rates)
        lines = []
        for letter, top, rounds in (("a", "odd", "(odd - 1) // 2"), ("b", "even", "(even - 2) // 2")):
            lines += [f"{letter}{b} = load_four(t, {top} * {width} + {b})" for b in begins]
            lines += [f"for j in range({rounds}):", f"    row = ({top} - 2 - 2 * j) * {width}"]
            lines += [f"    {letter}{b} = fuse_four({letter}{b}, square, load_four(t, row + {b}))" for b in begins]
        for b in begins:
            lines += [
                f"d{b} = add_four(multiply_four(wide, fuse_four(b{b}, wide, a{b})), load_four(low, {b}))",
                f"s{b} = load_four(t, {b})",
                f"y{b} = add_four(s{b}, d{b})",
                f"r{b} = subtract_four(d{b}, subtract_four(y{b}, s{b}))",
            ]
        for b in begins:
            for array, letter in (("z", "y"), ("e", "r")):
                if b + FOUR <= count:
                    lines.append(f"store_four({array}, {b}, {letter}{b})")
                else:
                    lines.append(f"{', '.join(f'{letter}{b}_{k}' for k in range(FOUR))} = parts_of_four({letter}{b})")
                    lines += [f"{array}[{b + k}] = {letter}{b}_{k}" for k in range(count - b)]
        return lines


def _count_indices(text: str) -> str:
    """The text with unsigned indices; literal indices need no change."""
    return re.sub(r"\bt\[([^]]*[a-z][^]]*)\]", r"t[counted(\1)]", text)
