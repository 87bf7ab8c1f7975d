"""Kernels of motors and stops: torques about the axis of a joint that depend on its angle and on its rate.

They act in a step with the angle, the rate and the time in its middle; their work is the torque times the turn, so that the energy less
the work is kept to round-off. RATTLE takes them at both ends, and has no step for those that depend on the rate.
"""

from ....kernels import summation
from ....kernels.marks import choice, slot
from ..layout import Joint, Link, Signal
from .clock import set_time, work_place
from .rows import kicks

KP, KD, EFFORT = 0, 1, 2  # constants of a motor
LOW, HIGH, STIFFNESS, DAMPING = 0, 1, 2, 3  # constants of a limit


@choice
def has_motors():
    """1 if there are any of them, else 0."""
    return 0


@slot
def motor_torque(theta, rate, which, par):
    """The torque of all motors on joint number `which` of those that have an angle with forces, and its derivatives by theta and rate."""


@slot
def drag_torque(theta, rate, which, par):
    """The same of what takes energy out."""


def given_torque(theta, rate, at, signal, par):
    """A function of the time, up to the effort."""
    return within_effort(par.signal[signal, Signal.VALUE], 0.0, 0.0, par.torsion[at + EFFORT])


def follow_target(theta, rate, at, signal, par):
    """-kp (theta - target) - kd (rate - that of the target), up to the effort."""
    kp = par.torsion[at + KP]
    kd = par.torsion[at + KD]
    late = theta - par.signal[signal, Signal.VALUE]
    torque = -kp * late - kd * (rate - par.signal[signal, Signal.SLOPE])
    return within_effort(torque, -kp, -kd, par.torsion[at + EFFORT])


def within_effort(torque, by_theta, by_rate, effort):
    """A torque and its derivatives, none larger than the effort."""
    if torque > effort:
        return effort, 0.0, 0.0
    if torque < -effort:
        return -effort, 0.0, 0.0
    return torque, by_theta, by_rate


def beyond(theta, at, par):
    """How far an angle is beyond a stop."""
    if theta > par.torsion[at + HIGH]:
        return theta - par.torsion[at + HIGH]
    if theta < par.torsion[at + LOW]:
        return theta - par.torsion[at + LOW]
    return 0.0


def limit_energy(theta, at, par):
    """k x^2/2."""
    x = beyond(theta, at, par)
    return 0.5 * par.torsion[at + STIFFNESS] * x * x


def limit_slope(theta, at, par):
    """k x."""
    return par.torsion[at + STIFFNESS] * beyond(theta, at, par)


def limit_curvature(theta, at, par):
    """k beyond a stop."""
    return par.torsion[at + STIFFNESS] if beyond(theta, at, par) != 0.0 else 0.0


def limit_drag(theta, rate, at, signal, par):
    """-c |x| rate."""
    x = beyond(theta, at, par)
    c = par.torsion[at + DAMPING] if x > 0.0 else -par.torsion[at + DAMPING]
    return -c * x * rate, (-c * rate if x != 0.0 else 0.0), -c * x


def push_joints(theta, rate, which, par):
    """Motors and drags together."""
    m, m_theta, m_rate = motor_torque(theta, rate, which, par)
    d, d_theta, d_rate = drag_torque(theta, rate, which, par)
    return m + d, m_theta + d_theta, m_rate + d_rate


def mean_push(which, theta, d, h, par):
    """h^2 times the torque in the middle of a step in which the angle goes from theta to theta + d, and its derivative by d."""
    torque, by_theta, by_rate = push_joints(theta + 0.5 * d, d / h, which, par)
    return h * h * torque, 0.5 * h * h * by_theta + h * by_rate


def motor_work(z, e, h, time, k, d, par):
    """Add to z what motors and drags of joint k did while its angle grew by d; it is the time of the middle of the step."""
    theta = par.joint[k, Joint.THETA]
    which = par.link[k, Link.TORSION]
    if kicks():  # nothing depends on the rate
        set_time(time, par)
        first, _, _ = motor_torque(theta, 0.0, which, par)
        set_time(time + h, par)
        last, _, _ = motor_torque(theta + d, 0.0, which, par)
        summation.add(z, e, work_place(par), 0.5 * (first + last) * d)
    else:
        push, _, _ = motor_torque(theta + 0.5 * d, d / h, which, par)
        drag, _, _ = drag_torque(theta + 0.5 * d, d / h, which, par)
        summation.add(z, e, work_place(par), push * d)
        summation.add(z, e, work_place(par) - 1, drag * d)
