"""Pictures of the forces and drives of a chain, such as `run.plot.work()` and `run.plot.force_extension()`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from ..running.units import unit_of
from .style import Panels, drawing, drawing_panels, legend_above, legend_in_one_row, line_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..running.runs import Run
    from ..systems.chain.chain import Chain


class PullPictures:
    """Pictures of a run of a chain with active ends or loads. Every method takes `ax`, the axes to draw on (None: new
    ones)."""

    run: Run
    label: str

    def work(self, ax: Sequence[Axes] | None = None) -> Panels:
        """Work of each end and load since the start, and its power, over time. Two axes, one above the other."""
        chain = self._need_pulls("work")
        outputs = chain.outputs(self.run)
        units = [self._unit_of("energy"), self._unit_of("energy", per_time=True)]
        with drawing_panels(ax, 2, "work") as axes:
            for panel, name, unit in zip(axes, ("work", "power"), units, strict=True):
                values = getattr(outputs, name)
                for number, source in enumerate(_acting(chain)):
                    panel.plot(values.time, values.sel(source=source), label=source, **line_style(number))
                panel.set_ylabel(name + unit)
            legend_in_one_row(axes[0], self.label)
            axes[-1].set_xlabel("time" + self._unit_of("time"))
        return axes

    def force_extension(self, source: str | None = None, ax: Axes | None = None) -> Axes:
        """Force on an end, along the line to the other end, over the distance between the ends.

        Parameters
        ----------
        source : "left", "right", or a load such as "loads[0]"; None: the source at the last body, otherwise the first
            one
        """
        chain = self._need_pulls("force_extension")
        known = _acting(chain)
        if source is not None and source not in known:
            raise InputError(
                f"nothing acts at {source!r}", where="plot.force_extension", do=f"choose one of {', '.join(known)}"
            )
        chosen = source or ("right" if "right" in known else known[0])
        outputs = chain.outputs(self.run)
        position = np.asarray(self.run.data.position.values)
        along = position[:, -1] - position[:, 0]
        body = dict(_bodies(chain))[chosen]
        outward = along / outputs.extension.values[:, None] * (1.0 if body > 0 else -1.0)
        force = np.einsum("ti,ti->t", outputs.force.sel(source=chosen).values, outward)
        with drawing(ax) as ax:
            ax.plot(outputs.extension.values, force, label=self.label, **line_style(0))
            ax.set(xlabel="extension" + self._unit_of("position"), ylabel=f"force of {chosen}" + self._unit_of("force"))
            legend_above(ax)
        return ax

    def _suited_to_pulls(self) -> tuple[str, ...]:
        return ("work", "force_extension") if self._pulled_chain() is not None else ()

    def _pulled_chain(self) -> Chain | None:
        from ..systems.chain.chain import Chain

        system = self.run.system
        return system if isinstance(system, Chain) and _acting(system) else None

    def _need_pulls(self, picture: str) -> Chain:
        chain, system = self._pulled_chain(), self.run.system
        if chain is None:
            raise InputError(
                f"nothing pulls, moves or turns {system.title}", where=f"plot.{picture}",
                do="draw energy(), or give the chain ends or loads that act",
            )  # fmt: skip
        return chain

    def _unit_of(self, name: str, *, per_time: bool = False) -> str:
        units = self.run.plan.units
        unit = unit_of(self.run.system, name, units, raised=True)
        if unit and per_time:
            unit += f" / {units['time']}"
        return f" ({unit})" if unit else ""


def _bodies(chain: Chain) -> list[tuple[str, int]]:
    """Ends and loads by name, and the body of each."""
    loads = [(f"loads[{number}]", body) for number, (body, _) in enumerate(chain.loads)]
    return [("left", 0), ("right", chain.count - 1), *loads]


def _acting(chain: Chain) -> list[str]:
    """Names of the ends that pull, move or turn their body, and of all loads."""
    from ..systems.chain.ends import Force, Moved, Torque, Tweezers

    sources = [chain.left, chain.right, *(load for _, load in chain.loads)]
    return [
        name for (name, _), source in zip(_bodies(chain), sources, strict=True)
        if isinstance(source, (Force, Moved, Torque, Tweezers))
    ]  # fmt: skip
