"""The description of a chain in a case."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...text.plain import Json
from ..many_bodies import describe_bodies
from ..sampled import InTime, describe_in_time
from .ends import describe_end

if TYPE_CHECKING:
    from .chain import Chain


def describe_chain(chain: Chain, gravity: Sequence[InTime]) -> dict[str, Json]:
    """JSON from which the same chain is made again; gravity as given, which may depend on time."""
    forms: dict[str, dict[str, Json]] = {
        "quaternion": {}, "rotation": {"form": chain.form}, "multiplier": {"form": chain.form, "J0": chain.J0},
    }  # fmt: skip
    ends: dict[str, Json] = {"left": describe_end(chain.left), "right": describe_end(chain.right)}
    pairs = chain.acting.pairs
    return {
        "kind": chain.kind, "bodies": describe_bodies(chain.alike), "potential": chain.interactions.describe(),
        **({"closed": True} if chain.closed else ends), **forms[chain.form],
        "gravity": [describe_in_time(part) for part in gravity],
        **({} if pairs is None else {"pairs": pairs.describe(), "exclude": chain.exclude}),
        **({"loads": [{"body": body, **describe_end(load)} for body, load in chain.loads]} if chain.loads else {}),
    }  # fmt: skip
