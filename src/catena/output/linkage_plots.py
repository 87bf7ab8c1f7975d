"""Pictures of the joints of a linkage, such as `run.plot.joint_angles()`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from ..running.units import unit_of
from ..systems.linkage.joint_coordinates import label_of, number_of
from .showing import scene_or_nothing
from .style import Panels, drawing, drawing_panels, legend_above, line_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..analysis.linkage_outputs import LinkageOutputs
    from ..running.runs import Run
    from ..systems.linkage.linkage import Linkage

REACTION_POINTS = 1000  # each solves a linear system ...
FEW_POINTS, JOINT_POINTS = (
    100,
    6000,
)  # ... whose size is the number of joints: fewer for a long chain, which would take minutes
ANGLE_POINTS = 10_000
MOST_LINES = 8  # joints drawn for a long chain, unless they are named


class JointPictures:
    """Pictures of a run of a linkage. Every method takes `joints`, numbers or names (None: all, or some of many), and
    `ax`."""

    run: Run
    label: str

    def joint_angles(self, joints: Sequence[int | str] | None = None, ax: Axes | None = None) -> Axes:
        """Angle about the axis of each hinge, screw or sliding joint that turns, over time; full turns are counted.

        Targets of motors, and prescribed paths, are dotted.
        """
        return self._of_hinges("joint_angles", "angle", "joint angle (rad)", joints, ax)

    def joint_speeds(self, joints: Sequence[int | str] | None = None, ax: Axes | None = None) -> Axes:
        """Rate of that angle over time."""
        time = self.run.plan.units.get("time", "")
        return self._of_hinges("joint_speeds", "speed", f"joint speed (rad/{time or 'time'})", joints, ax)

    def reactions(self, joints: Sequence[int | str] | None = None, ax: Sequence[Axes] | None = None) -> Panels:
        """Magnitude of the force and of the torque of each joint on its child, over time. Two axes, one above the other."""
        linkage = self._need_joints("reactions")
        outputs, thinning = self._some_outputs(linkage)
        chosen, words = self._choose(
            linkage, joints, list(range(len(scene_or_nothing(self.run.system).joints or ()))), "reactions"
        )
        force = unit_of(self.run.system, "force", self.run.plan.units, raised=True)
        torque = unit_of(self.run.system, "torque", self.run.plan.units, raised=True)
        panels = (("force", outputs.reaction_force, force), ("torque", outputs.reaction_torque, torque))
        with drawing_panels(ax, 2, "reactions") as axes:
            for panel, (name, values, unit) in zip(axes, panels, strict=True):
                size = np.linalg.norm(values.values, axis=-1)
                for number, k in enumerate(chosen):
                    panel.plot(outputs.time, size[:, k], label=label_of(linkage, k), **line_style(number))
                panel.set_ylabel(f"reaction {name}" + (f" ({unit})" if unit else ""))
            legend_above(axes[0], self.label + words + thinning)
            axes[-1].set_xlabel("time" + self._time_unit())
        return axes

    def _of_hinges(
        self, picture: str, name: str, words: str, joints: Sequence[int | str] | None, ax: Axes | None
    ) -> Axes:
        linkage = self._need_joints(picture)
        turning = [k for k, joint in enumerate(scene_or_nothing(self.run.system).joints or ()) if joint.has_angle]
        if not turning:
            raise InputError(
                f"no joint of {self.run.system.title} has an angle", where=f"plot.{picture}", do="draw reactions()"
            )
        chosen, some = self._choose(linkage, joints, turning, picture)
        outputs = self._outputs(linkage, ANGLE_POINTS if name == "speed" else None)
        values = getattr(outputs, name).values
        stride = -(-len(values) // ANGLE_POINTS)
        with drawing(ax) as ax:
            for number, k in enumerate(chosen):
                ax.plot(outputs.time[::stride], values[::stride, k], label=label_of(linkage, k), **line_style(number))
            if name == "angle":
                self._add_targets(outputs, chosen, stride, ax)
            ax.set(xlabel="time" + self._time_unit(), ylabel=words)
            legend_above(ax, self.label + some)
        return ax

    def _add_targets(self, outputs: LinkageOutputs, joints: Sequence[int], stride: int, ax: Axes) -> None:
        """Draw the targets of the angles as dotted lines."""
        targets, named = outputs.target.values[::stride], False
        for number, k in enumerate(joints):
            if np.isfinite(targets[:, k]).any():
                colour = line_style(number)["color"]
                label = "_" if named else "targets"
                ax.plot(outputs.time[::stride], targets[:, k], ":", label=label, color=colour, linewidth=1.2)
                named = True

    def motor_torques(self, joints: Sequence[int | str] | None = None, ax: Axes | None = None) -> Axes:
        """Torques of motors and drives about the axis of each joint that has one, over time."""
        linkage = self._need_joints("motor_torques")
        driven = linkage.moved_joints
        if not driven:
            raise InputError(
                f"no joint of {self.run.system.title} has a motor", where="plot.motor_torques", do="draw joint_angles()"
            )
        chosen, some = self._choose(linkage, joints, driven, "motor_torques")
        outputs, thinning = self._some_outputs(linkage)
        unit = unit_of(self.run.system, "torque", self.run.plan.units, raised=True)
        with drawing(ax) as ax:
            for number, k in enumerate(chosen):
                ax.plot(
                    outputs.time, outputs.motor_torque.values[:, k], label=label_of(linkage, k), **line_style(number)
                )
            ax.set(xlabel="time" + self._time_unit(), ylabel="torque of motors" + (f" ({unit})" if unit else ""))
            legend_above(ax, self.label + some + thinning)
        return ax

    def _some_outputs(self, linkage: Linkage) -> tuple[LinkageOutputs, str]:
        """Outputs at as many samples as take seconds to compute, and the words that say so."""
        most = min(REACTION_POINTS, max(FEW_POINTS, JOINT_POINTS // max(1, len(linkage.joints))))
        stride = max(1, -(-self.run.data.sizes["time"] // most))
        return linkage.outputs(self.run, every=stride), "" if stride == 1 else f"\n(one of {stride} samples)"

    def _outputs(self, linkage: Linkage, most: int | None) -> LinkageOutputs:
        """Outputs at `most` samples; angles need all samples, or full turns would be lost."""
        stride = 1 if most is None else max(1, -(-self.run.data.sizes["time"] // most))
        return linkage.outputs(self.run, every=stride)

    def _choose(
        self, linkage: Linkage, given: Sequence[int | str] | None, known: list[int], picture: str
    ) -> tuple[list[int], str]:
        if given is None:
            places = np.unique(np.linspace(0, len(known) - 1, min(MOST_LINES, len(known))).round().astype(int))
            words = "" if len(places) == len(known) else f"\n({len(places)} of {len(known)} joints)"
            return [known[i] for i in places], words
        numbers = [number_of(linkage, one, f"plot.{picture}") for one in given]
        wrong = [k for k in numbers if k not in known]
        if wrong or not numbers:
            raise InputError(
                f"{label_of(linkage, wrong[0])} has none" if wrong else "no joint is named", where=f"plot.{picture}",
                do=f"name some of {', '.join(label_of(linkage, k) for k in known[:MOST_LINES])}" + (", ..." if len(known) > MOST_LINES else ""),
            )  # fmt: skip
        return numbers, ""

    def _need_joints(self, picture: str) -> Linkage:
        from ..systems.linkage.linkage import Linkage

        if not isinstance(self.run.system, Linkage) or not self.run.system.joints:
            raise InputError(
                f"{self.run.system.title} has no joints", where=f"plot.{picture}", do="draw energy() or invariants()"
            )
        return self.run.system

    def _suited_to_joints(self) -> tuple[str, ...]:
        joints = scene_or_nothing(self.run.system).joints
        if not joints:
            return ()
        moved = ("motor_torques",) if self._need_joints("motor_torques").moved_joints else ()
        return (*(("joint_angles", "joint_speeds") if any(j.has_angle for j in joints) else ()), *moved, "reactions")

    def _time_unit(self) -> str:
        unit = self.run.plan.units.get("time", "")
        return f" ({unit})" if unit else ""
