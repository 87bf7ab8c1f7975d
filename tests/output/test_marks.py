"""What acts on bodies, as the page draws it: at the places and in the directions of motions that are made up."""

from __future__ import annotations

import json
import re

import matplotlib as mpl
import numpy as np
import pytest
from test_linkage_plots import ANGLE, COUNT, TIME, turning

import catena as ct
from catena.output.page.frames import choose_frames
from catena.output.page.marks import Marks, marks_of
from made_up import made_up

mpl.use("agg")


def found(run: ct.Run) -> dict[str, Marks]:
    return {one.name: one for one in marks_of(run, choose_frames(run, 2000), reach=3.0)}


def with_forces(*forces: object) -> ct.Run:
    """The rod that turns about x, with forces that did not move it."""
    run = turning()
    names = [field.name for field in run.system.fields]
    acted = run.system.with_parts(forces=forces)  # type: ignore[attr-defined]
    return made_up(acted, {name: run.data[name].values for name in names})


def test_a_torque_is_an_arrow_along_its_axis_and_a_load_one_at_its_point() -> None:
    """The longest of each kind has the length that was asked for; the torque is known at two samples of three, and in between on a line."""
    point = (0.0, 0.0, 0.5)
    run = with_forces(ct.Motor(0, torque="4*cos(t/9)"), ct.Load(0, point, force=(0.0, "1 + t", 0.0)))
    made = found(run)
    assert list(made) == ["motors", "loads", "reactions"]
    torque = made["motors"].ends
    assert torque.shape == (COUNT, 1, 2, 3)
    assert np.abs(torque[:, 0, 0]).max() < 1e-12  # the hinge is at the origin
    expected = 3.0 * np.cos(TIME / 9)
    assert np.abs(torque[:, 0, 1] - expected[:, None] * [1.0, 0.0, 0.0]).max() < 1e-12
    load = made["loads"].ends
    assert load[:, 0, 0, 1:] == pytest.approx(0.5 * np.stack([-np.sin(ANGLE), np.cos(ANGLE)], axis=1), abs=1e-12)
    assert (load[:, 0, 1] - load[:, 0, 0])[-1] == pytest.approx([0.0, 3.0, 0.0])
    assert not made["reactions"].shown
    assert np.linalg.norm(
        made["reactions"].ends[:, 0, 1] - made["reactions"].ends[:, 0, 0], axis=1
    ).max() == pytest.approx(3.0)


def test_a_field_pulls_at_particles() -> None:
    pair = ct.Body.from_particles([[0, 0, -1.0], [0, 0, 1.0]])
    linkage = ct.Linkage([pair], [], [ct.External("2*z")], gravity=(0, 0, 0))
    zeros = np.zeros((5, 1, 3))
    fields = {
        "position": zeros,
        "orientation": np.tile([1.0, 0, 0, 0], (5, 1, 1)),
        "momentum": zeros,
        "angular_momentum": zeros,
    }
    ends = found(made_up(linkage, fields))["fields"].ends
    assert ends[0, :, 0].tolist() == [[0, 0, -1.0], [0, 0, 1.0]]
    assert (ends[0, :, 1] - ends[0, :, 0]).tolist() == [[0, 0, -3.0]] * 2


def test_tweezers_lead_to_their_anchor() -> None:
    """From the point of the body, which is turned about x by a quarter, to where the anchor is at that time."""
    chain = ct.Chain(
        [ct.Body.tetrahedron()] * 2, ct.LennardJones(5.0, 1.0), right=ct.Tweezers(2.0, ("5 + t", 0, 0), at=(0, 0, 1.0))
    )
    zeros, half = np.zeros((3, 2, 3)), np.sqrt(0.5)
    fields = {
        "position": np.tile([[0, 0, 0], [3.0, 0, 0]], (3, 1, 1)), "orientation": np.tile([half, half, 0, 0], (3, 2, 1)), "momentum": zeros, "angular_momentum": zeros,
    }  # fmt: skip
    run = made_up(chain, fields)
    line = found(run)["tweezers"]
    assert line.kind == "line"
    assert line.ends[:, 0, 0] == pytest.approx(np.tile([3.0, -1.0, 0.0], (3, 1)))
    assert line.ends[:, 0, 1] == pytest.approx(np.array([[5.0 + t, 0, 0] for t in run.data.time.values]), abs=1e-12)


def test_marks_stand_on_the_page_and_targets_in_the_picture() -> None:
    run = with_forces(ct.Motor(0, target="7*sin(0.3*t) + 0.1", kp=2.0))
    text = run.view().html
    told = json.loads(re.search(r'id="description">(.*?)</script>', text, re.S).group(1))  # type: ignore[union-attr]
    assert [(mark["name"], mark["shown"]) for mark in told["marks"]] == [("motors", True), ("reactions", False)]
    assert 'id="marks-1"' in text
    angles, targets = run.plot.joint_angles().lines
    assert np.asarray(targets.get_ydata()) - np.asarray(angles.get_ydata()) == pytest.approx(np.full(COUNT, 0.1))
    assert np.asarray(run.plot.motor_torques().lines[0].get_ydata()) == pytest.approx(np.full(COUNT, 0.2), abs=1e-12)
    with pytest.raises(ct.InputError, match="has a motor"):
        turning().plot.motor_torques()
