"""Pictures of joints against a motion that is prescribed: a rod that turns about a fixed hinge."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest

import catena as ct
from catena.output import linkage_plots, style
from made_up import made_up

mpl.use("agg")

COUNT, MASS, G = 101, 2.0, 9.81
TIME = 0.1 * np.arange(COUNT)
ANGLE, RATE = 7.0 * np.sin(0.3 * TIME), 2.1 * np.cos(0.3 * TIME)  # more than a full turn


@pytest.fixture(autouse=True)
def _close():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def turning(*, hinge: bool = True) -> ct.Run:
    """A rod whose middle is held, turned by ANGLE about x."""
    rod = ct.Body.box((0.2, 0.2, 1.0), mass=MASS)
    joint = ct.Revolute(-1, 0, axis=(1, 0, 0)) if hinge else ct.Spherical(-1, 0)
    zeros = np.zeros((COUNT, 1, 3))
    half = 0.5 * ANGLE
    turned = np.stack([np.cos(half), np.sin(half), 0 * half, 0 * half], axis=1)[:, None]
    spin = zeros.copy()
    spin[:, 0, 0] = rod.moments[0] * RATE
    fields = {"position": zeros, "orientation": turned, "momentum": zeros, "angular_momentum": spin}
    return made_up(
        ct.Linkage([rod], [joint], gravity=(0, 0, -G)), fields, units={"mass": "kg", "length": "m", "time": "s"}
    )


def test_angles_and_speeds_are_those_of_the_motion():
    """Full turns are counted; the speed is the derivative of the angle."""
    plot = turning().plot
    angle, speed = plot.joint_angles(), plot.joint_speeds()
    assert angle.lines[0].get_ydata() == pytest.approx(ANGLE, abs=1e-12) and np.ptp(ANGLE) > 2 * np.pi
    assert speed.lines[0].get_ydata() == pytest.approx(RATE, abs=1e-12)
    assert angle.get_ylabel() == "joint angle (rad)" and speed.get_ylabel() == "joint speed (rad/s)"
    assert angle.get_xlabel() == "time (s)"


def test_the_reaction_of_a_balanced_rod_is_its_weight():
    """It turns about its middle without torque, so nothing but the weight is carried."""
    force, torque = turning().plot.reactions()
    assert force.lines[0].get_ydata() == pytest.approx(np.full(COUNT, MASS * G), rel=1e-12)
    assert np.abs(torque.lines[0].get_ydata()).max() < 1e-12
    assert force.get_ylabel() == "reaction force (kg m s\u207b\u00b2)"


def test_reactions_of_many_joints_are_drawn_of_some_samples_and_say_so(monkeypatch):
    """Each takes a linear system as large as the joints: all samples of a chain took minutes."""
    monkeypatch.setattr(linkage_plots, "JOINT_POINTS", 20)
    monkeypatch.setattr(linkage_plots, "FEW_POINTS", 10)
    force, _ = turning().plot.reactions()
    assert force.lines[0].get_xdata() == pytest.approx(TIME[::6])
    assert "one of 6 samples" in "".join(text.get_text() for text in force.get_legend().get_texts()) + str(
        force.get_legend().get_title().get_text()
    )


def test_pictures_of_joints_suit_linkages_only():
    assert {"joint_angles", "joint_speeds", "reactions"} <= set(turning().plot.suited())
    ball = turning(hinge=False)
    assert "reactions" in ball.plot.suited() and "joint_angles" not in ball.plot.suited()
    with pytest.raises(ct.InputError, match="no joint of Linkage has an angle"):
        ball.plot.joint_angles()
    with pytest.raises(ct.InputError, match="there is no joint 3"):
        turning().plot.joint_speeds([3])
    free = made_up(
        ct.FreeBody(ct.Body.box((1, 2, 3))),
        {"orientation": np.tile([1.0, 0, 0, 0], (3, 1)), "angular_momentum": np.ones((3, 3))},
    )
    with pytest.raises(ct.InputError, match="has no joints"):
        free.plot.reactions()


def test_of_many_joints_some_are_drawn_and_the_legend_says_so():
    rods = [ct.Body.box((0.2, 0.2, 1.0))] * 20
    joints = [ct.Revolute(k - 1, k, axis=(1, 0, 0)) for k in range(20)]
    zeros = np.zeros((3, 20, 3))
    fields = {
        "position": zeros,
        "orientation": np.tile([1.0, 0, 0, 0], (3, 20, 1)),
        "momentum": zeros,
        "angular_momentum": zeros,
    }
    ax = made_up(ct.Linkage(rods, joints), fields).plot.joint_angles()
    assert len(ax.lines) == 8 and "8 of 20 joints" in ax.get_legend().get_title().get_text()


def test_lines_of_many_joints_can_be_told_apart():
    """The eighth had the colour and the dashes of the first."""
    with style.apply_style():
        styles = [tuple(sorted(style.line_style(k).items(), key=str)) for k in range(14)]
    assert len(set(map(str, styles))) == 14
