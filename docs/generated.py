"""What the pages take from the package and its benchmarks: methods with their traits and measured costs, tables of races."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive

import catena as ct
from catena.methods.base import METHODS
from catena.running.catalogue import HEADINGS, MethodTable, dash
from catena.systems.base import SYSTEMS
from catena.systems.linkage.joint_forces import FORCES
from catena.systems.linkage.joints import JOINTS
from catena.systems.potentials.pairwise import POTENTIALS

RESULTS = Path(__file__).parents[1] / "benchmarks" / "results"
OTHERS = {  # where the reference lists what is registered and stands nowhere in it
    "<!-- every method -->": METHODS, "<!-- every other system -->": SYSTEMS, "<!-- every other potential -->": POTENTIALS,
    "<!-- every other joint -->": JOINTS, "<!-- every other force -->": FORCES,
}  # fmt: skip
TILES = "tiles, fused multiply-adds"  # how chains of equal bodies are stepped


class MethodsTable(Directive):
    """All methods of the registry with their traits."""

    def run(self) -> list[Any]:
        return [_table(HEADINGS, ct.list_methods().rows())]


class MeasuredMethods(Directive):
    """Cost and error of each method on one problem of each kind, as `catena bench methods` measured them."""

    def run(self) -> list[Any]:
        made: list[Any] = []
        for problem in measured_problems():
            title = nodes.rubric(text=problem["about"])
            made += [title, _table(*decision_table(problem, ct.list_methods(measured_system(problem["name"]))))]
        return made


def measured_problems() -> list[dict[str, Any]]:
    """What `catena bench methods` wrote."""
    problems: list[dict[str, Any]] = json.loads((RESULTS / "methods.json").read_text(encoding="utf-8"))["problems"]
    return problems


def measured_system(name: str) -> Any:
    """The system of a problem that `catena bench methods` measures; conf.py makes the folder of the benchmarks known."""
    from methods import SUBJECTS

    return SUBJECTS[name].problem().system


def decision_table(problem: Mapping[str, Any], methods: MethodTable) -> tuple[list[str], list[list[str]]]:
    """Headings and rows, the cheapest first: what is promised, then cost and step for each error of the state.

    The energy error is that of the run with an error of 1e-6, or the coarser one if the method does not get there. Methods that were added
    since the table was measured come last, and say so; those with noise are left out.
    """
    known = {str(method): methods.promised(method).traits for method in methods if not method.traits.random}
    targets = sorted({target for row in problem["rows"] for target in row["at"]}, key=float, reverse=True)
    headings = ["method", "order", "symplectic", *(f"to {float(t):.0e}" for t in targets), "energy error"]
    rows = []
    for row in problem["rows"]:
        traits = known[row["method"]]
        costs = [_cost(row["at"].get(target)) for target in targets]
        reached = [
            row["at"][target]["energy_error"] for target in targets if target in row["at"] and float(target) >= 1e-6
        ]
        energy = f"{reached[-1]:.0e}" if reached else "-"
        rows.append([row["method"], traits.order_word, dash(traits.symplectic_word), *costs, energy])
    for method in sorted(known.keys() - {row["method"] for row in problem["rows"]}):
        traits = known[method]
        empty = ["-"] * (len(targets) - 1)
        rows.append([method, traits.order_word, dash(traits.symplectic_word), "not measured yet", *empty, "-"])
    return headings, rows


def with_others(page: str) -> str:
    """The reference with all public kinds of the registries in their places."""
    for place, registry in OTHERS.items():
        named = set(re.findall(r"^\.\. autoclass:: catena\.(\w+)$", page, re.MULTILINE))
        missing = sorted(name for name in registry.names() if name in ct.__all__ and name not in named)
        found = [f".. autoclass:: catena.{name}" for name in missing]
        page = page.replace(place, "\n".join(["```{eval-rst}", *found, "```"]) if found else "")
    return page


def is_page(file: Path) -> bool:
    """Whether a result has a heading of its own; tables without one are shown where they are talked about."""
    return file.read_text().startswith("#")


def fill_page(app: Any, docname: str, source: list[str]) -> None:
    """Lists that nobody keeps by hand: every registered method in the reference, every race at the end of the benchmarks."""
    if docname == "api":
        source[0] = with_others(source[0])
    if docname == "benchmarks":
        races = [file.name for file in sorted(RESULTS.glob("*.md")) if file.stem != "methods" and is_page(file)]
        shown = [f"```{{include}} ../benchmarks/results/{name}\n:heading-offset: 1\n```" for name in races]
        source[0] = "\n\n".join([source[0], *shown, ""])


def make_markup(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are plain text: |q| and 2*x are no markup, `name` is code, a [key] of the bibliography is a citation, and what
    follows the colon of a parameter says what it is, not its type.
    """
    made: list[str] = []
    example = listed = False
    for line in lines:
        example = line.lstrip().startswith(">>>") or (example and line.strip() != "")
        if line and set(line) == {"-"}:
            listed = made[-1] in ("Parameters", "Attributes")
        if not example:
            line = re.sub(r"([|*])", r"\\\1", line)
            line = re.sub(r"^( *)\+ ", r"\1\\+ ", line)  # a formula over two lines is no list
            line = re.sub(r"(`[^`]+`)(?=\w)", r"\1\\ ", line)
            line = re.sub(r"\[([a-z]+\d{4}[a-z]*)\]", r":cite:`\1`", line)
        parameter = re.match(r"(\w[^:]*) : (.*)", line) if listed else None
        made += [parameter[1], f"    {parameter[2]}"] if parameter else [line]
    lines[:] = made


def race_figures() -> dict[str, str]:
    """What the page on benchmarks says in words, by name: from the files that the races wrote."""
    engine, body, chain, linkage, gpu, warm, many, short = (
        json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
        for name in ("engine", "free_body", "chain", "linkage", "gpu", "warm_start", "ensemble", "short_calls")
    )
    titles = ("Time over that of C", "Time over that of heyoka", "Taylor", "Against SciPy")
    against_c, heyoka, series, scipy = (_starting(engine, title) for title in titles)
    races = _starting(body, "Times faster")

    def faster(race: str, peer: str, ours: str = "") -> list[float]:
        """In a race against a peer, by those of us whose name begins so."""
        return [
            row["times faster"]
            for row in races
            if (row["race"], row["against"]) == (race, peer) and row["ours"].startswith(ours)
        ]

    def steps_over(peer: str) -> list[float]:
        rows = _starting(linkage, "Times faster than a peer")
        return [row["times faster"] for row in rows if row["against"].startswith(peer)]

    def over_batches(title: str, *, lanes: bool) -> float:
        """The best of us over heyoka's batches, in lanes or not."""
        rows = [row for row in _starting(many, title) if row["participant"].endswith("lanes" if lanes else "members")]
        return max(row["times heyoka's speed, best"] for row in rows)

    small, large = (
        [pair["cores_worth"] for pair in gpu["pairs"] if pair["case"].startswith(("chain", "four")) == linked] for linked in (False, True)
    )  # fmt: skip
    threads = [row["speed_up_16"] for row in gpu["threads"] if "bodies" not in row]
    over_scipy = [row["times faster"] for row in [*scipy, *(row for row in races if row["against"] == "DOP853")]]
    return {
        "loop_over_c": _range([row["best"] for row in against_c if row["same bits"]]),
        "body_over_c": _range([row["best"] for row in _starting(body, "Time of a step") if row["same bits"]]),
        "chain_over_c": _range([row["best"] for row in _starting(chain, "Strang steps over C")]),
        "chain_over_lammps": _range(
            [
                row["times faster, best"]
                for row in _starting(chain, "Strang steps against LAMMPS")
                if row["form"] == TILES
            ]
        ),
        "bath_over_lammps": _range(
            [row["times faster, best"] for row in _starting(chain, "Steps in a heat bath against LAMMPS")]
        ),
        "mixed_over_lammps": _range(
            [row["times faster, best"] for row in _starting(chain, "Strang steps of mixed chains against LAMMPS")]
        ),
        "orbits_over_heyoka": _range([row["best"] for row in heyoka]),
        "free_body_over_heyoka": _range(faster("free body", "heyoka")),
        "series_over_heyoka": _range([row[level] for row in series for level in row if level.startswith("1e-")]),
        "top_series_over_heyoka": _range(faster("heavy top", "heyoka", "Taylor")),
        "exact_tops_over_heyoka": _range(faster("symmetric top", "heyoka", "exact")),
        "heyoka_over_gauss": _range([1.0 / x for x in faster("heavy top", "heyoka", "Gauss")]),
        "over_scipy": _range(over_scipy),
        "over_mujoco": _range(faster("free body", "MuJoCo RK4") + faster("heavy top", "MuJoCo RK4")),
        "joints_over_mujoco": _range(steps_over("MuJoCo")),
        "joints_over_exudyn": _range(steps_over("EXUDYN")),
        "equal_joints_over_mujoco": _range(
            [row["times faster"] for row in _starting(linkage, "Times faster at equal error")]
        ),
        "gpu_over_core": _range(small),
        "gpu_over_core_linked": _range(large),
        "sixteen_threads": _range(threads),
        "gpu_over_core_hinges": _range(
            [pair["cores_worth"] for pair in gpu["pairs"] if pair["case"].startswith("four")]
        ),
        "float64_rate": _range(
            [100 * row["float64_rate"] for pair in gpu["pairs"] for row in pair["gpu"] if "float64_rate" in row]
        ),
        "long_chain_ms": _range([row["gpu_ms_with_looks"] for row in gpu["threads"] if "gpu_ms_with_looks" in row]),
        "members": str(gpu["pairs"][0]["members"]),
        "gpu": gpu["machine"]["gpu"],
        "lanes_over_henon_heiles": _range([over_batches("Henon-Heiles", lanes=True)]),
        "lanes_over_kepler": _range([over_batches("Kepler", lanes=True)]),
        "lanes_over_galactic": _range([over_batches("galactic", lanes=True)]),
        "symmetric_tops_over_batches": _range([over_batches("symmetric top", lanes=False)]),
        "batches_over_heavy_tops": _range([1.0 / over_batches("heavy top", lanes=True)]),
        "chains_over_partitions": _range([row["times faster, best"] for row in _starting(many, "Chains")]),
        "warm_start": _range(list(warm["ratios"].values())),
        **{f"short_{name.replace(', its ', '_')}": _range([share]) for name, share in short.items()},
    }


def _starting(results: Mapping[str, Any], title: str) -> Any:
    return next(rows for name, rows in results.items() if name.startswith(title))


def _range(values: Sequence[float]) -> str:
    low, high = (f"{value:.0f}" if value >= 100 else f"{value:.2g}" for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def _cost(at: Mapping[str, float] | None) -> str:
    return "-" if at is None else f"{at['cost']:.3g} ({at['dt']:.2g})"


def _table(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> nodes.container:
    """A table that scrolls sideways where it is too wide for the page."""
    table, group = nodes.table(), nodes.tgroup(cols=len(headings))
    table += group
    for _ in headings:
        group += nodes.colspec(colwidth=1)
    head, body = nodes.thead(), nodes.tbody()
    group += head
    group += body
    for part, lines in ((head, [headings]), (body, rows)):
        for cells in lines:
            line = nodes.row()
            for number, cell in enumerate(cells):
                entry, words = nodes.entry(), nodes.paragraph()
                # what one can type stands as code
                words += nodes.literal(text=str(cell)) if number == 0 and part is body else nodes.Text(str(cell))
                entry += words
                line += entry
            part += line
    return nodes.container("", table, classes=["wide-table"])


def setup(app: Any) -> dict[str, bool]:
    """Make the directives known to Sphinx."""
    app.add_directive("methods-table", MethodsTable)
    app.add_directive("measured-methods", MeasuredMethods)
    app.connect("source-read", fill_page)
    app.connect("autodoc-process-docstring", make_markup, priority=400)  # before napoleon
    app.add_css_file("catena.css")
    return {"parallel_read_safe": True}
