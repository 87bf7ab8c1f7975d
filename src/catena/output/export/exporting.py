"""Runs as files for other programs: `run.export("motion.gsd")`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import CapabilityError, InputError, nearest, unknown_word
from ...systems.base import System
from ...systems.potentials.pairwise import NO_TYPE
from ..files import path_from, replacing
from ..page.appearance import bodies_of, has_bodies
from .atoms import atomic_number

if TYPE_CHECKING:
    from ...running.runs import Run


@dataclass(frozen=True)
class Format:
    """A way to write a run.

    Attributes
    ----------
    about : description for users
    home : module and function that write it
    suffixes : suffixes of files that are written in this format by default
    needs : "bodies", "particles", or nothing
    package : package needed beyond the dependencies of catena, from the extra `export`
    """

    about: str
    home: tuple[str, str]
    suffixes: tuple[str, ...] = ()
    needs: str = ""
    package: str = ""

    @property
    def write(self) -> Callable[[Run, Path], None]:
        """The function (run, path) that writes it."""
        module, name = self.home
        return getattr(import_module(f"{__package__}.{module}"), name)


FORMATS = {
    "xyz": Format("extended XYZ, one oriented particle per body", ("xyz", "write_bodies"), (".xyz", ".extxyz"), "bodies"),
    "xyz-particles": Format("extended XYZ of the particles of the bodies", ("xyz", "write_particles"), (), "particles"),
    "dump": Format("LAMMPS dump with orientations", ("dump", "write_bodies"), (".dump", ".lammpstrj"), "bodies"),
    "dump-particles": Format("LAMMPS dump of the particles of the bodies", ("dump", "write_particles"), (), "particles"),
    "gsd": Format("GSD of HOOMD-blue, with shapes", ("hoomd", "write_bodies"), (".gsd",), "bodies", "gsd"),
    "gsd-particles": Format("GSD of the particles of the bodies", ("hoomd", "write_particles"), (), "particles", "gsd"),
    "pdb": Format("PDB of the particles of the bodies, a model per sample", ("pdb", "write"), (".pdb",), "particles"),
    "gltf": Format("glTF binary, an animated scene", ("gltf", "write"), (".glb",), "bodies"),
    "netcdf": Format("NetCDF 3, all samples", ("netcdf", "write"), (".nc",)),
    "csv": Format("CSV: time, scalars and what belongs to no body", ("table", "write"), (".csv",)),
}  # fmt: skip


def export(run: Run, path: str | Path, format: str | None = None) -> Path:
    """Write a run to a file for other programs; samples are read in blocks, so memory stays constant.

    The file appears complete or not at all. Of a run that was killed or is still running, what was recorded is written.

    Parameters
    ----------
    run : a run
    path : the file; its suffix selects the format. Files .xyz, .dump and .gsd hold the atoms of a molecule (a system
        whose particles all have types that are elements), and the bodies of any other system
    format : "xyz", "xyz-particles", "dump", "dump-particles", "gsd", "gsd-particles", "pdb", "gltf", "netcdf" or "csv"; None: by the suffix

    Returns
    -------
    The path of the file

    Raises
    ------
    InputError : no such format, or the file cannot be written
    CapabilityError : the system has no bodies or particles, or a package is missing
    """
    target = path_from(path)
    name = _by_suffix(target, run.system) if format is None else _find_format(format)
    chosen = FORMATS[name]
    _check(run.system, name, chosen)
    if chosen.package:
        _require(chosen.package, name)
    with replacing(target) as temporary:
        chosen.write(run, temporary)
    return target


def _by_suffix(path: Path, system: System) -> str:
    suffix = path.suffix.lower()
    for name, known in FORMATS.items():
        if suffix in known.suffixes:
            atoms = f"{name}-particles"
            return atoms if atoms in FORMATS and _is_molecule(system) else name
    suffixes = [s for known in FORMATS.values() for s in known.suffixes]
    raise InputError(
        f"no format has the suffix {path.suffix!r}{nearest(suffix, suffixes)}", where=f"export to {path}",
        do=f"use one of {', '.join(suffixes)}, or give the format: {', '.join(FORMATS)}",
    )  # fmt: skip


def _is_molecule(system: System) -> bool:
    """Whether its particles are atoms: of types that are elements."""
    kinds = {kind for body in bodies_of(system) for kind in body.particles.types} if has_bodies(system) else set()
    return bool(kinds - {NO_TYPE}) and all(isinstance(kind, str) and atomic_number(kind) for kind in kinds - {NO_TYPE})


def _find_format(format: str) -> str:
    if format not in FORMATS:
        raise unknown_word(f"there is no format {format!r}", format, FORMATS, "export.format")
    return format


def _check(system: System, name: str, chosen: Format) -> None:
    suited = [other for other, known in FORMATS.items() if not known.needs]
    if chosen.needs and not has_bodies(system):
        raise CapabilityError(
            f"{system.title} has no bodies, which the format {name} is made of", where="export",
            do=f"choose {' or '.join(suited)}",
        )  # fmt: skip
    if chosen.needs == "particles" and not any(len(body.particles) for body in bodies_of(system)):
        raise CapabilityError(
            f"the bodies of {system.title} have no particles", where="export",
            do=f"choose {'xyz' if name == 'pdb' else name.removesuffix('-particles')}, which writes the bodies",
        )  # fmt: skip


def _require(package: str, name: str) -> None:
    try:
        import_module(package)
    except ImportError:
        raise CapabilityError(
            f"the format {name} needs the package {package}, which is not installed", where="export",
            do="pip install 'catena[export]'",
        ) from None  # fmt: skip
