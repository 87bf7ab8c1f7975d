"""Trees from robot description files: geometry, welded links, what is refused and where, and agreement with MuJoCo."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

import catena as ct
import linkages
from catena.geometry import rotations
from catena.systems.linkage import constraints
from catena.systems.linkage.joints import GROUND, Planar, Prismatic, Revolute, Spherical
from catena.systems.linkage.linkage import Linkage
from catena.systems.linkage.urdf import read_urdf
from catena.systems.linkage.urdf.document import LARGEST_FILE, turn_about

pytestmark = pytest.mark.filterwarnings("ignore:.*not enforced")  # the files here have limits

INERTIAL = '<inertial><mass value="{m}"/><inertia ixx="2" ixy="0" ixz="0" iyy="2.5" iyz="0" izz="3"/></inertial>'
ARM = f"""<?xml version="1.0"?>
<robot name="arm">
  <material name="grey"/>
  <link name="base"/>
  <link name="upper">
    <visual><geometry><mesh filename="package://nowhere/upper.stl"/></geometry></visual>
    <inertial>
      <origin xyz="0.1 0.2 0.3" rpy="0.4 -0.5 0.6"/>
      <mass value="2"/>
      <inertia ixx="0.3" ixy="0.01" ixz="-0.02" iyy="0.4" iyz="0.03" izz="0.5"/>
    </inertial>
  </link>
  <link name="plate">{INERTIAL.format(m=3)}</link>
  <link name="frame"/>
  <link name="slider">{INERTIAL.format(m=1)}</link>
  <joint name="shoulder" type="revolute">
    <origin xyz="0 0 1" rpy="0 0 0.3"/>
    <parent link="base"/>
    <child link="upper"/>
    <axis xyz="0 3 4"/>
    <limit lower="-1" upper="2" effort="10" velocity="5"/>
    <dynamics damping="0.7"/>
  </joint>
  <joint name="weld" type="fixed">
    <origin xyz="0.5 -0.4 0.3" rpy="0.2 0.1 -0.3"/>
    <parent link="upper"/>
    <child link="plate"/>
  </joint>
  <joint name="mark" type="fixed"><parent link="plate"/><child link="frame"/><origin xyz="0 0 0.2"/></joint>
  <joint name="rail" type="prismatic">
    <origin xyz="0.1 0 0" rpy="0 0.2 0"/>
    <parent link="frame"/>
    <child link="slider"/>
    <axis xyz="0 0 1"/>
  </joint>
  <transmission name="motor"/>
</robot>
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "robot.urdf"
    path.write_text(text)
    return path


def rpy(roll: float, pitch: float, yaw: float) -> np.ndarray:
    return turn_about(2, yaw) @ turn_about(1, pitch) @ turn_about(0, roll)


def test_welded_links_become_one_body(tmp_path: Path) -> None:
    """Mass, centre and inertia about it from the parts, each turned and shifted by hand."""
    robot = read_urdf(written(tmp_path, ARM))
    assert robot.body_names == ("upper", "slider") and robot.joint_names == ("shoulder", "rail")
    upper = robot.bodies[0]
    turn, weld = rpy(0.4, -0.5, 0.6), rpy(0.2, 0.1, -0.3)
    own = turn @ np.array([[0.3, 0.01, -0.02], [0.01, 0.4, 0.03], [-0.02, 0.03, 0.5]]) @ turn.T
    plate = weld @ np.diag([2.0, 2.5, 3.0]) @ weld.T
    at, off = np.array([0.1, 0.2, 0.3]), np.array([0.5, -0.4, 0.3])
    center = (2 * at + 3 * off) / 5

    def shifted(mass: float, x: np.ndarray) -> np.ndarray:
        return mass * (x @ x * np.eye(3) - np.outer(x, x))

    expected = own + shifted(2, at - center) + plate + shifted(3, off - center)
    assert upper.mass == 5.0
    assert np.abs(upper.tensor - expected).max() < 1e-14
    shoulder = turn_about(2, 0.3)
    assert np.abs(robot.position[0] - ([0, 0, 1] + shoulder @ center)).max() < 1e-15
    assert np.abs(rotations.to_matrix(robot.orientation[0]) - shoulder).max() < 1e-15


def test_joints_stand_where_the_file_puts_them(tmp_path: Path) -> None:
    robot = read_urdf(written(tmp_path, ARM))
    shoulder, rail = robot.joints
    assert isinstance(shoulder, Revolute) and isinstance(rail, Prismatic)
    assert (shoulder.parent, shoulder.child, rail.parent, rail.child) == (GROUND, 0, 0, 1)
    assert np.abs(np.array(shoulder.axis) - turn_about(2, 0.3) @ [0.0, 0.6, 0.8]).max() < 1e-15
    assert robot.limits == {"shoulder": (-1.0, 2.0)}
    assert [force.damping for force in robot.forces] == [0.7]
    linkage, start = Linkage.from_urdf(str(tmp_path / "robot.urdf"))
    images = constraints.images_of(linkage, start.orientation)
    gap = constraints.residuals(linkage, start.position, start.orientation, images=images, shifts=np.zeros(2))
    assert np.abs(gap).max() < 1e-15


def test_angles_move_the_links(tmp_path: Path) -> None:
    """Forward kinematics by hand: base, shoulder turned by 0.8, weld, rail out by 0.25."""
    robot = read_urdf(written(tmp_path, ARM), angles={"shoulder": 0.8, "rail": 0.25})
    axis = np.array([0.0, 0.6, 0.8])
    turn = turn_about(2, 0.3) @ rotations.to_matrix([np.cos(0.4), *(np.sin(0.4) * axis)])
    frame = turn @ rpy(0.2, 0.1, -0.3)
    origin = np.array([0, 0, 1]) + turn @ [0.5, -0.4, 0.3] + frame @ [0, 0, 0.2] + frame @ [0.1, 0, 0]
    slide = frame @ rpy(0, 0.2, 0)
    assert np.abs(robot.position[1] - (origin + 0.25 * slide[:, 2])).max() < 1e-15
    linkage, start = Linkage.from_urdf(str(tmp_path / "robot.urdf"), angles={"shoulder": 0.8, "rail": 0.25})
    assert abs(linkage.angles(start)[0] - 0.8) < 1e-15


def test_a_floating_joint_leaves_the_body_free_and_a_planar_one_in_its_plane(tmp_path: Path) -> None:
    text = f"""<robot name="two"><link name="world"/><link name="a">{INERTIAL.format(m=1)}</link><link name="b">{INERTIAL.format(m=1)}</link>
    <joint name="free" type="floating"><parent link="world"/><child link="a"/></joint>
    <joint name="table" type="planar"><parent link="world"/><child link="b"/><axis xyz="0 0 2"/></joint></robot>"""
    robot = read_urdf(written(tmp_path, text))
    assert len(robot.bodies) == 2 and len(robot.joints) == 1 and isinstance(robot.joints[0], Planar)


# What is refused ----------------------------------------------------------------------------------------------------------------

LINK = '<link name="{}">' + INERTIAL.format(m=1) + "</link>\n"
JOINT = '<joint name="{}" type="{}"><parent link="{}"/><child link="{}"/>{}</joint>\n'
BASE = '<robot name="r">\n<link name="base"/>\n' + LINK.format("a") + LINK.format("b")


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("<robot><link></robot>", "not well formed: mismatched tag", 1),
        ("", "not well formed: no element found", 1),
        ("<html/>", "describes <html>, not <robot>", 1),
        ("<!DOCTYPE robot [<!ENTITY a 'b'>]>\n<robot/>", "document type or entities", 1),
        ('<!DOCTYPE robot SYSTEM "file:///etc/passwd">\n<robot/>', "document type or entities", 1),
        ("<robot/>", "has no link", 0),
        (BASE + "</robot>", "nobody's child: 'base', 'a', 'b'", 0),
        (BASE + JOINT.format("j", "revolute", "base", "a", "") + JOINT.format("k", "revolute", "a", "base", "") + "</robot>", "circle", 5),
        ("<robot>" + LINK.format("a") + LINK.format("b") + JOINT.format("j", "revolute", "a", "b", "")
         + JOINT.format("k", "revolute", "b", "a", "") + "</robot>", "go round in a circle", 0),
        (BASE + JOINT.format("j", "revolute", "base", "a", "") + JOINT.format("k", "fixed", "b", "b", "") + "</robot>", "circle", 6),
        (BASE + JOINT.format("j", "revolute", "base", "a", "") + JOINT.format("k", "revolute", "base", "b", "")
         + JOINT.format("l", "revolute", "a", "b", "") + "</robot>", "'b' is the child of 'k' and of 'l'", 7),
        (BASE + JOINT.format("j", "hinge", "base", "a", "") + "</robot>", "has type 'hinge'", 5),
        (BASE + JOINT.format("j", "revolute", "base", "c", "") + "</robot>", "names the link 'c'", 5),
        (BASE + JOINT.format("j", "revolute", "base", "a", '<axis xyz="0 0 0"/>') + "</robot>", "axis of joint 'j' is zero", 5),
        (BASE + JOINT.format("j", "revolute", "base", "a", '<axis xyz="0 x 0"/>') + "</robot>", "is not 3 numbers", 5),
        (BASE + JOINT.format("j", "revolute", "base", "a", '<origin rpy="0 0"/>') + "</robot>", "rpy = '0 0'", 5),
        (BASE + JOINT.format("j", "revolute", "base", "a", '<mimic joint="k"/>') + "</robot>", "mimics another", 5),
        (BASE + JOINT.format("j", "revolute", "base", "a", '<dynamics friction="-1"/>') + "</robot>", "friction -1", 5),
        (BASE + JOINT.format("j", "revolute", "base", "a", '<dynamics damping="-1"/>') + "</robot>", "damping -1", 5),
        (BASE + LINK.format("a") + "</robot>", "two links 'a'", 5),
        ('<robot>\n<link name="base"/>\n<link name="a"/>' + JOINT.format("j", "revolute", "base", "a", "") + "</robot>",
         "'a' moves, but has no mass", 3),
        ('<robot>\n<link name="base"/>\n<link name="a"><inertial><mass value="1"/></inertial></link></robot>', "<inertial> has no <inertia>", 3),
        ('<robot>\n<link name="base"/>\n<link name="a"><inertial><mass value="1"/>\n<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" '
         'izz="3"/></inertial></link>' + JOINT.format("j", "revolute", "base", "a", "") + "</robot>", "link 'a'", 3),
        (BASE + JOINT.format("j", "fixed", "base", "a", "") + JOINT.format("k", "fixed", "base", "b", "") + "</robot>", "can move", 0),
        ("<robot>" + "<a>" * 70 + "</a>" * 70 + "</robot>", "inside each other", 1),
        ('<!DOCTYPE r [<!ENTITY % x SYSTEM "http://nowhere/x.dtd"> %x;]>\n<robot/>', "document type or entities", 1),
        ("<robot>\n&x;</robot>", "not well formed: undefined entity", 2),
        ("<robot>\0</robot>", "not well formed", 1),
        ("<robot/><robot/>", "junk after document element", 1),
        ('<?xml version="1.0" encoding="utf-7"?>\n<robot/>', "cannot be decoded", 1),
        ('<?xml version="1.0" encoding="none"?>\n<robot/>', "unknown encoding", 1),
        (BASE + '<xacro:include filename="/etc/passwd"/></robot>', "<xacro:include> stands for other elements", 5),
        (BASE + '<xi:include href="/etc/passwd"/></robot>', "<xi:include> stands for other elements", 5),
        (BASE + JOINT.format("j", "revolute", "base", "a", '<axis xyz="1e308 1e308 0"/>') + "</robot>", "out of range", 5),
        (BASE + JOINT.format("j", "revolute", "base", "a", '<origin xyz="inf 0 0"/>') + "</robot>", "is not 3 numbers", 5),
        (BASE + JOINT.format("j", "revolute", "base", "a", '<axis xyz="' + "1" * 10_000 + '"/>') + "</robot>", "1...' of <axis> is not 3", 5),
        (BASE + JOINT.format("j", "floating", "base", "a", '<dynamics damping="1"/>') + JOINT.format("k", "fixed", "a", "b", "")
         + "</robot>", "floating joint 'j' has damping", 5),
        ('<robot>\n<link name="a"><inertial><mass value="1e-320"/>\n<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
         "</inertial></link></robot>", "value = '1e-320' of <mass> is out of range", 2),
        ('<robot>\n<link name="a"><inertial><mass value="-1"/>\n<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
         "</inertial></link></robot>", "the mass is -1", 2),
    ],
)  # fmt: skip
def test_a_file_that_is_no_tree_of_bodies_is_refused_with_the_line(
    text: str, message: str, line: int, tmp_path: Path
) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ct.InputError) as found:
        read_urdf(path)
    assert message in found.value.wrong
    assert found.value.where == (f"{path}:{line}" if line else str(path))
    assert found.value.do


def test_files_that_are_missing_or_huge_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ct.InputError, match="cannot be read"):
        read_urdf(tmp_path / "nothing.urdf")
    for no_file, kind in ((tmp_path, "a directory"), (Path("/dev/zero"), "a device")):
        with pytest.raises(ct.InputError, match=kind):
            read_urdf(no_file)
    huge = tmp_path / "huge.urdf"
    with huge.open("wb") as file:
        file.truncate(LARGEST_FILE + 1)
    with pytest.raises(ct.InputError, match=f"{LARGEST_FILE + 1} bytes"):
        read_urdf(huge)


def test_entities_are_not_expanded_even_where_they_are_harmless(tmp_path: Path) -> None:
    """The ten lines that would fill the memory are refused at the first."""
    lines = ["<!DOCTYPE r [", '<!ENTITY a0 "ha">'] + [f'<!ENTITY a{k} "{f"&a{k - 1};" * 10}">' for k in range(1, 10)]
    with pytest.raises(ct.InputError, match="document type"):
        read_urdf(written(tmp_path, "\n".join([*lines, "]>", '<robot name="&a9;"/>'])))


def test_angles_of_unknown_joints_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ct.InputError, match="did you mean shoulder"):
        read_urdf(written(tmp_path, ARM), angles={"sholder": 1.0})
    with pytest.raises(ct.InputError, match="shoulder = nan is not finite"):
        read_urdf(written(tmp_path, ARM), angles={"shoulder": float("nan")})
    with pytest.raises(ct.InputError, match="'far' is not a number"):
        read_urdf(written(tmp_path, ARM), angles={"shoulder": "far"})


# Another code ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "do"),
    [('lower="2" upper="1"', "exchange them in the file"), ('lower="1" upper="1"', "make the joint fixed")],
)
def test_stops_without_a_way_between_them_name_their_joint(tmp_path: Path, limits: str, do: str) -> None:
    """Without stops the file is read; with some that have a way between them it is, too."""
    link = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    ends = f'<parent link="base"/><child link="arm"/><limit {limits} effort="1" velocity="0"/></joint></robot>'
    text = f'<robot name="r"><link name="base"/><link name="arm">{link}<joint name="elbow" type="revolute">{ends}'
    path = tmp_path / "stops.urdf"
    path.write_text(text)
    with pytest.raises(ct.InputError, match="joint 'elbow' has no way between its limits") as refused:
        ct.Linkage.from_urdf(str(path), limits=(10.0, 1.0))
    assert do in refused.value.do
    with pytest.warns(ct.CatenaWarning, match="limits of elbow are not enforced"):
        ct.Linkage.from_urdf(str(path))
    path.write_text(text.replace(limits, 'lower="1" upper="2"'))
    assert len(ct.Linkage.from_urdf(str(path), limits=(10.0, 1.0))[0].forces) == 1


@pytest.mark.parametrize(
    ("kind", "limit", "ends"),
    [
        ("revolute", '<limit effort="1" velocity="0"/>', (0.0, 0.0)),
        ("prismatic", '<limit effort="1" velocity="0"/>', (0.0, 0.0)),
        ("revolute", '<limit lower="-1" effort="1" velocity="0"/>', (-1.0, 0.0)),
        ("prismatic", '<limit upper="2" effort="1" velocity="0"/>', (0.0, 2.0)),
        ("revolute", "", None),
        ("continuous", '<limit effort="1" velocity="0"/>', None),
        ("continuous", '<limit lower="0" upper="0" effort="1" velocity="0"/>', None),
        ("planar", '<limit lower="0" upper="1" effort="1" velocity="0"/>', None),
    ],
)
def test_an_end_that_a_limit_does_not_give_is_zero(tmp_path: Path, kind: str, limit: str, ends: tuple | None) -> None:
    """The specification of <limit> (wiki.ros.org/urdf/XML/joint): lower and upper are 0 where they are not given; only revolute and
    prismatic joints have them. A joint that could not move is refused, where stops are wanted or a motor takes it away from 0."""
    link = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    between = f'<parent link="base"/><child link="arm"/>{limit}</joint></robot>'
    path = tmp_path / "ends.urdf"
    path.write_text(
        f'<robot name="r"><link name="base"/><link name="arm">{link}<joint name="elbow" type="{kind}">{between}'
    )
    assert read_urdf(path).limits == ({} if ends is None else {"elbow": ends})
    refused = pytest.raises(ct.InputError, match="no way between its limits: lower = 0, upper = 0")
    with nullcontext() if ends != (0.0, 0.0) else refused as stopped:
        forces = ct.Linkage.from_urdf(str(path), limits=(10.0, 1.0))[0].forces
        assert [(force.low, force.high) for force in forces] == ([] if ends is None else [ends])
    if ends == (0.0, 0.0):
        assert "one that is missing is 0" in stopped.value.do
        with pytest.raises(ct.InputError, match="beyond its limits 0 and 0") as pushed:
            ct.Linkage.from_urdf(str(path), motors={"elbow": {"target": 0.5, "kp": 9.0}})
        assert "one that is missing is 0" in pushed.value.do


def test_an_angle_of_a_robot_without_hinges_is_refused_without_a_choice(tmp_path: Path) -> None:
    link = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    joint = '<joint name="j" type="floating"><parent link="base"/><child link="arm"/></joint></robot>'
    path = tmp_path / "free.urdf"
    path.write_text(f'<robot name="r"><link name="base"/><link name="arm">{link}{joint}')
    with pytest.raises(ct.InputError, match="there is no revolute") as refused:
        ct.Linkage.from_urdf(str(path), angles={"j": 1.0})
    assert refused.value.do == "leave it out: there are none"


def random_robot(seed: int, count: int) -> str:
    """A tree of revolute and prismatic joints between bodies of random inertia."""
    rng = linkages.RNG(seed)

    def numbers(*values: float) -> str:
        return " ".join(repr(float(v)) for v in values)

    lines = ['<robot name="random">', '<link name="base"/>']
    for k in range(count):
        body = ct.Body.from_particles(rng.normal(size=(6, 3)) * 0.2, rng.uniform(0.2, 1.0, 6))
        t = body.tensor
        lines.append(
            f'<link name="l{k}"><inertial><origin xyz="{numbers(*rng.normal(size=3) * 0.3)}" rpy="{numbers(*rng.normal(size=3))}"/>'
            f'<mass value="{body.mass!r}"/><inertia ixx="{t[0, 0]!r}" ixy="{t[0, 1]!r}" ixz="{t[0, 2]!r}" iyy="{t[1, 1]!r}"'
            f' iyz="{t[1, 2]!r}" izz="{t[2, 2]!r}"/></inertial></link>'.replace("np.float64(", "").replace(")", "")
        )
        kind = "prismatic" if k % 5 == 3 else "continuous"
        parent = "base" if k == 0 else f"l{int(rng.integers(max(0, k - 3), k))}"
        limit = '<limit lower="-1000" upper="1000" effort="1" velocity="1"/>' if kind == "prismatic" else ""
        lines.append(
            f'<joint name="j{k}" type="{kind}"><parent link="{parent}"/><child link="l{k}"/>{limit}'
            f'<origin xyz="{numbers(*rng.normal(size=3) * 0.5)}" rpy="{numbers(*rng.normal(size=3))}"/>'
            f'<axis xyz="{numbers(*rng.normal(size=3))}"/></joint>'
        )
    return "\n".join([*lines, "</robot>"])


def mujoco_positions(model: object, dt: float, t_end: float) -> np.ndarray:
    """Centres of mass of all bodies, the world first, by its Runge-Kutta method of order 4."""
    import mujoco

    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4  # type: ignore[attr-defined]
    model.opt.timestep = dt  # type: ignore[attr-defined]
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT  # type: ignore[attr-defined]
    data = mujoco.MjData(model)
    for _ in range(round(t_end / dt)):
        mujoco.mj_step(model, data)
    mujoco.mj_forward(model, data)
    return data.xipos.copy()


@pytest.mark.peers
def test_a_random_tree_falls_as_in_mujoco(tmp_path: Path) -> None:
    """Twelve bodies from the same file, 2 s. Measured: 6e-13 with its RK4 at 2e-4."""
    import mujoco

    path = written(tmp_path, random_robot(4, 12))
    linkage, start = linkages.Bare.from_urdf(str(path))
    run = linkages.run_to(linkage, start, ct.Gauss(6), dt=0.005, steps=400)
    ours = linkages.state_of(linkage, run).position
    model = mujoco.MjModel.from_xml_path(str(path))
    theirs = mujoco_positions(model, 2e-4, 2.0)[[model.body(name).id for name in read_urdf(path).body_names]]
    assert np.abs(ours - theirs).max() < 1e-6


@pytest.mark.peers
@pytest.mark.parametrize("kind", [Revolute, Spherical], ids=["revolute", "spherical"])
def test_hanging_chains_fall_as_in_mujoco(kind: type) -> None:
    import mujoco

    angles = [np.pi / 4, np.pi / 4, 3 * np.pi / 4, 3 * np.pi / 4]
    chain, start = linkages.box_chain(kind, angles)
    joint = '<joint type="hinge" axis="1 0 0"' if kind is Revolute else '<joint type="ball"'
    opening, closing, above = "", "", None
    for k in range(4):
        q = (
            start.orientation[k]
            if above is None
            else rotations.multiply(rotations.conjugate(above), start.orientation[k])
        )
        place = "0 0 0" if k == 0 else "0 0 -3"
        quat = " ".join(map(repr, map(float, q)))
        opening += (
            f'<body pos="{place}" quat="{quat}">{joint} pos="0 0 0"/>'
            '<inertial pos="0 0 -1.5" mass="12" diaginertia="9.25 10 1.25"/>'
        )
        closing += "</body>"
        above = start.orientation[k]
    xml = f'<mujoco><option gravity="0 0 -9.81"/><worldbody>{opening}{closing}</worldbody></mujoco>'
    theirs = mujoco_positions(mujoco.MjModel.from_xml_string(xml), 5e-4, 2.0)[1:]
    run = linkages.run_to(chain, start, ct.Gauss(6), dt=0.01, steps=200)
    assert np.abs(linkages.state_of(chain, run).position - theirs).max() < 1e-6


def test_an_arm_starts_from_the_angles_of_its_joints_as_its_file_is_read_with_them(tmp_path: Path) -> None:
    """`read_urdf` walks through the links of the file, `start` through the joints of the linkage: a few roundings; and back again."""
    (tmp_path / "arm.urdf").write_text(ARM)
    arm, _ = Linkage.from_urdf(str(tmp_path / "arm.urdf"))
    given = {"shoulder": 0.4, "rail": -0.2}
    _, wanted = Linkage.from_urdf(str(tmp_path / "arm.urdf"), angles=given)
    start = arm.start(angles=given)
    assert start.position == pytest.approx(wanted.position, abs=1e-14)
    turned = rotations.to_matrix(start.orientation), rotations.to_matrix(wanted.orientation)
    assert turned[0] == pytest.approx(turned[1], abs=1e-14)
    assert arm.angles(start) == pytest.approx([0.4, -0.2], abs=1e-14)
    assert [joint.name for joint in arm.joints] == ["shoulder", "rail"]
    assert np.abs(arm.start(angles={"shoulder": 0.4}).position - wanted.position).max() > 0.1
