"""The cases that come with the package, one template for each kind of system; that of the chain is run by default."""

from __future__ import annotations

from importlib.resources import files

from ..errors import unknown_word


def template_names() -> list[str]:
    """The templates that `catena new` can write: "hamiltonian", ..."""
    folder = files("catena.cases") / "kinds"
    return sorted(file.name.removesuffix(".toml") for file in folder.iterdir() if file.name.endswith(".toml"))


def template(name: str) -> str:
    """A commented case of a kind of system, which runs as it is."""
    known = template_names()
    if name not in known:
        raise unknown_word(f"there is no template {name!r}", name, known, "catena new")
    return _read(name)


def default_case() -> str:
    """The case that `catena run` uses if none is given."""
    return _read("chain")


def _read(name: str) -> str:
    return (files("catena.cases") / "kinds" / f"{name}.toml").read_text(encoding="utf-8")
