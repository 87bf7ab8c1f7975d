"""The invariants of a chain, and the work that is recorded beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base import Invariant

if TYPE_CHECKING:
    from .chain import Chain


def invariants_of(chain: Chain) -> tuple[Invariant, ...]:
    """Energy, the residuals of the form, momenta if nothing external acts, and the work of each drive."""

    def invariant(name: str, about: str, *tags: str) -> Invariant:
        shape, dims = ((3,), ("xyz",)) if name.startswith("total") else ((), ())
        # In the multiplier form these are integrals of the exact motion only: no method promises anything.
        promised = frozenset() if chain.form == "multiplier" else frozenset(tags)
        return Invariant(name, shape, dims, about, promised)

    about = "energy, less the work of what depends on time" if chain.drives else "energy, with the work of the load"
    found = [invariant("energy", about, "energy")]
    if chain.form == "rotation":
        found.append(invariant("orthogonality_residual", "R^T R - 1, the worst element", "unit"))
    else:
        found.append(invariant("unit_residual", "|q|^2 - 1 of the worst body", "unit", "quadratic"))
        found.append(invariant("tangency_residual", "q.g of the worst body", "unit", "bilinear", "quadratic"))
    if chain.is_isolated:
        found.append(invariant("total_momentum", "momentum", "linear", "bilinear", "quadratic"))
        found.append(invariant("total_angular_momentum", "angular momentum", "bilinear", "quadratic"))
    if chain.drives:
        about = f"work of {', '.join(chain.drives.names)}"
        found.append(Invariant("work", (len(chain.drives),), ("source",), about, frozenset({"work"})))
    return tuple(found)
