"""Tables of elastic links as files, NumPy's npz or CSV, that name their convention: `Elastic.read`, `Elastic.write`.

Components are r1 r2 r3 t1 t2 t3, rotation and translation. A CSV has a column for each of them, the rest, and for each element of the
stiffness, k_r1_r1, k_r1_r2, ..., k_t3_t3, one of k_r1_t2 and k_t2_r1 or both; columns are identified by name, in any
order. The convention is given in lines above them:

    # coordinates: cayley
    # frame: middle
    # angle_unit: 0.2

An npz has the arrays rotation, translation and stiffness, and the same names; `components` gives the order of rows and
columns of its stiffness. angle_unit: radians in the unit of the rotation coordinates, 1 if it is missing; pi/180 for
degrees, 0.2 for the fifths of a radian of some DNA models, whose Cayley vectors are 10 tan(phi/2) n.
"""

from __future__ import annotations

import csv
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

import numpy as np

from ...arrays import Array
from ...errors import InputError, nearest
from ...text.input_files import read_regular
from ...text.number_files import LARGEST, read_arrays
from ..numbers import finite_numbers
from .elastic import COMPONENTS, UPPER, Elastic
from .elastic_coordinates import Coordinates, Frame
from .pairwise import check

CONVENTION = ("coordinates", "frame", "angle_unit")
ANGLE_UNIT = 1.0  # radians
NAME = "name"  # of a column for human readers, which is not read


def write_table(links: Elastic, path: Path) -> None:
    """Write all digits, so that reading gives the same links."""
    convention = {"coordinates": links.coordinates, "frame": links.frame, "angle_unit": ANGLE_UNIT}
    if check_kind(path) == ".npz":
        turn, shift = links.rest
        np.savez(
            path, rotation=turn, translation=shift, stiffness=links.stiffness, components=np.array(COMPONENTS),
            coordinates=np.array(links.coordinates), frame=np.array(links.frame), angle_unit=np.array(ANGLE_UNIT),
        )  # fmt: skip
        return
    heads = [*COMPONENTS, *(_head(COMPONENTS[a], COMPONENTS[b]) for a, b in zip(*UPPER, strict=True))]
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(f"# {name}: {value}\n" for name, value in convention.items())
        rows = csv.writer(file)
        rows.writerow(heads)
        rows.writerows(links.table.tolist())


def read_table(path: Path, given: Mapping[str, object]) -> Elastic:
    """The links of a file; `given` adds what the file does not state of its convention, and must not contradict it."""
    stated, turn, shift, stiffness = (_from_npz if check_kind(path) == ".npz" else _from_csv)(path)
    convention = {name: _agree(name, stated.get(name), given.get(name), str(path)) for name in CONVENTION}
    unit = check(convention["angle_unit"], f"{path}, angle_unit", above=0.0)
    units = np.array([unit] * 3 + [1.0] * 3)
    coordinates = cast(Coordinates, convention["coordinates"])  # `Elastic` checks both
    frame = cast(Frame, convention["frame"])
    return Elastic(stiffness / (units[:, None] * units), (unit * turn, shift), coordinates, frame)


def check_kind(path: Path) -> str:
    """ ".npz" or ".csv"; InputError for any other file."""
    if path.suffix.lower() not in (".npz", ".csv"):
        raise InputError(f"{path.name} is neither npz nor csv", where=str(path), do="name it links.npz or links.csv")
    return path.suffix.lower()


def _head(a: str, b: str) -> str:
    return f"k_{a}_{b}"


def _agree(name: str, stated: object, given: object, where: str) -> object:
    """The value from the file or the caller, if they do not contradict each other."""
    if stated is not None and given is not None and stated != given:
        raise InputError(
            f"the table says {name} = {stated}, not {given}", where=where, do="leave it out, and convert the links"
        )
    found = given if stated is None else stated
    if found is None and name == "angle_unit":
        return 1.0
    if found is None:
        raise InputError(f"the table does not say its {name}", where=where, do=f"give {name}=")
    return found


def _from_npz(path: Path) -> tuple[dict[str, object], Array, Array, Array]:
    arrays, where = read_arrays(path, what="a table of links"), str(path)
    for name in ("rotation", "translation", "stiffness"):
        if name not in arrays:
            raise InputError(f"there is no array {name!r}", where=where, do="give rotation, translation and stiffness")
    order = [str(name) for name in arrays.get("components", np.array(COMPONENTS)).ravel().tolist()]
    if sorted(order) != sorted(COMPONENTS):
        raise InputError(f"components = {order}", where=where, do=f"name {', '.join(COMPONENTS)}, each once")
    turn = finite_numbers(arrays["rotation"], (3,), (None, 3), where=f"{where}, rotation")
    shift = finite_numbers(arrays["translation"], (3,), (None, 3), where=f"{where}, translation")
    stiffness = finite_numbers(arrays["stiffness"], (6, 6), (None, 6, 6), where=f"{where}, stiffness")
    places = [order.index(name) for name in COMPONENTS]
    stated = {name: arrays[name].item() for name in CONVENTION if name in arrays and arrays[name].ndim == 0}
    return stated, turn, shift, stiffness[..., places, :][..., places]


def _from_csv(path: Path) -> tuple[dict[str, object], Array, Array, Array]:
    where = str(path)
    try:
        lines = (
            read_regular(path, LARGEST, do="divide the table").decode("utf-8-sig").splitlines()
        )  # spreadsheets write a byte order mark first
    except OSError as trouble:
        raise InputError(f"the file cannot be read: {trouble.strerror}", where=where, do="give a table") from None
    except UnicodeDecodeError:
        raise InputError("this is no text", where=where, do="give a CSV in UTF-8") from None
    above = list(itertools.takewhile(lambda line: line.startswith("#"), lines))
    heads, *rows = [row for row in csv.reader(lines[len(above) :]) if row] or [[]]
    heads = [head.strip() for head in heads]
    known = [*COMPONENTS, *(_head(a, b) for a in COMPONENTS for b in COMPONENTS)]
    for head in heads:
        if head not in (*known, NAME) or heads.count(head) > 1:
            raise InputError(
                f"a column {head!r}{nearest(head, known)}" if head not in known else f"two columns {head!r}", where=where,
                do=f"name columns {', '.join(COMPONENTS)}, k_r1_r1, k_r1_r2, ... k_t3_t3, and {NAME!r} for what is not read",
            )  # fmt: skip
    table = _numbers(rows, heads, len(above) + 2, where)
    stiffness = np.full((len(table["r1"]), 6, 6), np.nan) if "r1" in table else np.zeros((0, 6, 6))
    for (i, a), (j, b) in itertools.product(enumerate(COMPONENTS), repeat=2):
        column = table.get(_head(a, b), table.get(_head(b, a)))
        if column is None:
            raise InputError(f"there is no column {_head(a, b)}", where=where, do="give all elements of the stiffness")
        stiffness[:, i, j] = column
    turn, shift = (np.column_stack([table[name] for name in part]) for part in (COMPONENTS[:3], COMPONENTS[3:]))
    if len(stiffness) == 1:
        turn, shift, stiffness = turn[0], shift[0], stiffness[0]
    return _header_convention(above, where), turn, shift, stiffness


def _numbers(rows: Sequence[Sequence[str]], heads: Sequence[str], first: int, where: str) -> dict[str, Array]:
    """The columns of numbers by their names."""
    for name in COMPONENTS:
        if name not in heads:
            raise InputError(f"there is no column {name}", where=where, do=f"give {', '.join(COMPONENTS)}, the rest")
    kept = [k for k, head in enumerate(heads) if head != NAME]
    numbers = []
    for line, row in enumerate(rows, first):
        try:
            numbers.append([float(row[k]) for k in kept])
        except (ValueError, IndexError):
            raise InputError(
                f"line {line} does not have {len(kept)} numbers under their names", where=where, do="complete it"
            ) from None
    if not numbers:
        raise InputError("a table of no links", where=where, do="give a row for each link")
    table = finite_numbers(numbers, where=where)
    return {heads[k]: table[:, place] for place, k in enumerate(kept)}


def _header_convention(above: Sequence[str], where: str) -> dict[str, object]:
    stated: dict[str, object] = {}
    for line in above:
        name, colon, value = (part.strip() for part in line.lstrip("# ").partition(":"))
        if colon and name in CONVENTION:
            stated[name] = value
    if "angle_unit" in stated:
        try:
            stated["angle_unit"] = float(str(stated["angle_unit"]))
        except ValueError:
            raise InputError(f"angle_unit: {stated['angle_unit']}", where=where, do="give radians in a unit") from None
    return stated
