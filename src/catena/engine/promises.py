"""What a method promises for a system.

Call `Pairing.promises`, as tables, cases, stores, audits and documentation do.

A method declares its traits for the equations that it is made for. Which of them hold depends on the view of the system
that it uses: on a free body the midpoint rule is another map than on a Hamiltonian, and in coordinates that are not
canonical no Runge-Kutta method is symplectic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ..kernels.views import View
from ..methods.base import Bounded, Method, Traits
from ..systems.base import Invariant
from ..text.plain import Json


@dataclass(frozen=True)
class Promises:
    """What a pair of system and method promises.

    Attributes
    ----------
    traits : order, structure, stability and citations of the step that the method makes of this system
    kept : for each invariant of the system "exact", "bounded", "drifts", "needed" or "none"
    """

    traits: Traits
    kept: Mapping[str, str]

    def judged(self, invariants: Iterable[Invariant]) -> list[Invariant]:
        """Invariants that an audit judges: all; in a heat bath, which changes everything else, those promised."""
        return [one for one in invariants if not (self.traits.random and self.kept[one.name] == "none")]

    def that_are(self, word: str) -> list[str]:
        """Names of the invariants with this promise."""
        return [name for name, promised in self.kept.items() if promised == word]

    def to_dict(self) -> dict[str, Json]:
        """Structure and what is kept as plain values for JSON.

        `order` is a number, "exact", "adaptive" or "2 in law"; `symplectic` is true or false, "to order 10" or "Poisson".
        """
        t = self.traits
        return {
            "order": t.order if t.has_order else t.order_word,
            "symplectic": {"yes": True, "no": False}.get(t.symplectic_word, t.symplectic_word),
            "symmetric": t.symmetric,
            "explicit": t.explicit,
            "promised": dict(self.kept),
        }


def promises_on(view: View, method: Method, invariants: Iterable[Invariant]) -> Promises:
    """What this method promises with a view of a system with these invariants; call it through `Pairing.promises`."""
    traits = _in_view(method.traits_on(view), view)
    kept = {}
    for invariant in invariants:
        word = "exact" if view.held & invariant.tags else traits.promise(invariant.tags - view.withdrawn)
        kept[invariant.name] = "needed" if word == "none" and view.needed & invariant.tags else word
    return Promises(traits, kept)


def _in_view(traits: Traits, view: View) -> Traits:
    """Without the consequences of symplecticity if the stepped variables are not canonical."""
    if "symplectic" not in view.withdrawn:
        return traits
    keeps = tuple(keep for keep in traits.keeps if not isinstance(keep, Bounded))
    return replace(traits, symplectic=False, poisson=False, nearly=0, keeps=keeps)
