"""Drives of a chain: forces, tweezers, torques and gravity that may depend on time, and bodies with prescribed motion.

Each drive has a clock and a work: z = (stepped variables of the chain | clocks (K) | works (K)). The clock t_k is a
coordinate of the extended phase space and w_k its momentum, so that H + sum w_k is conserved [hairer2006]:

    force        V = -F.x                    w' = -V_t = F'.x          x = r + R a, a point of the body
    tweezers     V = k/2 |x - A|^2           w' = k (x - A).A'
    gravity      V = -sum m_j g.r_j          w' = sum m_j g'.r_j
    moved        V(X(t), ...)                w' = f.X' + tau.Omega     f, tau: force and torque on the body
    torque       none                        w' = -tau.omega           minus its power

par.drive_sort and par.drive_body (K,), par.drive (K, Drive.WIDTH) say what acts on which body; scratch: par.drive_now (K, Now.WIDTH) at the
times of the clocks, par.drive_rate (K,) w', par.drive_push (K, 3) forces, par.drive_spin (K, 3).

A kernel of the driven chain may call the slot that it fills: that call reaches the kernel of the chain alone
(`catena.systems.chain.driving`).
"""

from ...geometry.quaternion import load4, product, to_space
from ...geometry.vectors import (
    add,
    add3,
    cross,
    diagonal_times,
    dot,
    load3,
    scaled,
    store3,
    subtract,
    times,
    transposed_times,
)
from ...kernels import elementary as math
from ...kernels import summation, views
from ...kernels.marks import Record, slot
from .forces import add_link_forces, body_rotation
from .motion import body_momentum, momentum_place

GRAVITY, FORCE, TWEEZERS, TORQUE, MOVED = 0, 1, 2, 3, 4
POTENTIAL = 5  # of links, if it depends on time: it has a clock and a work, but no own force (`moving_kernels`)


class Drive(Record):
    """par.drive[k]: constants of a drive: point (principal axes), stiffness, and what is prescribed of a moved body."""

    AT = 3
    STIFFNESS = 1
    POSITION = 1
    ORIENTATION = 1


class Now(Record):
    """par.drive_now[k]: values, slopes and curvatures of the components of a drive: three in space, then a
    quaternion."""

    VALUE = 3
    QUATERNION = 4
    SLOPE = 3
    QUATERNION_SLOPE = 4
    CURVATURE = 3
    QUATERNION_CURVATURE = 4


@slot
def drive_values(t, which, par, out):
    """Values of drive `which` at time t: a row `Now`."""


@slot
def set_orientation(z, n, j, q):
    """Set the orientation of body j to that of the unit quaternion q, principal axes."""


def clock_place(z, k, par):
    """Index of the clock of drive k."""
    return z.shape[0] - 2 * par.drive_sort.shape[0] + k


def work_place(z, k, par):
    """Index of its work."""
    return z.shape[0] - par.drive_sort.shape[0] + k


# Forces ------------------------------------------------------------------------------------------------------------


def set_drives(z, par):
    """Evaluate all drives at the times of their clocks."""
    for k in range(par.drive_sort.shape[0]):
        drive_values(z[clock_place(z, k, par)], k, par, par.drive_now[k])


def driven_point(z, k, par):
    """The point at which drive k acts on its body, in space."""
    j = par.drive_body[k]
    rotation = body_rotation(z, par.mass.shape[0], j)
    return add(load3(z, 3 * j), times(rotation, load3(par.drive[k], Drive.AT)))


def pull(x, k, par):
    """The force of drive k on its body at the point x, and w'."""
    now = par.drive_now[k]
    value = load3(now, Now.VALUE)
    slope = load3(now, Now.SLOPE)
    if par.drive_sort[k] == TWEEZERS:
        force = scaled(-par.drive[k, Drive.STIFFNESS], subtract(x, value))
        return force, -dot(force, slope)
    return value, dot(slope, x)


def turnable(v, j, par):
    """The torque v without components about axes that have no moment of inertia."""
    return (
        v[0] if par.inverse[j, 0] > 0.0 else 0.0,
        v[1] if par.inverse[j, 1] > 0.0 else 0.0,
        v[2] if par.inverse[j, 2] > 0.0 else 0.0,
    )


def add_drives(z, par):
    """Add the drives to par.f and par.tau; w' of all but torques goes into par.drive_rate."""
    add_link_forces(z, par)
    set_drives(z, par)
    for k in range(par.drive_sort.shape[0]):
        par.drive_rate[k] = 0.0
        if par.drive_sort[k] == GRAVITY:
            add_gravity(z, k, par)
        elif par.drive_sort[k] != MOVED:
            add_load(z, k, par)
    for k in range(par.drive_sort.shape[0]):
        if par.drive_sort[k] == MOVED:
            j = par.drive_body[k]
            torque = times(body_rotation(z, par.mass.shape[0], j), load3(par.tau[j], 0))
            par.drive_rate[k] = moved_power(k, load3(par.f[j], 0), torque, par)


def add_gravity(z, k, par):
    """Add gravity on all bodies."""
    now = par.drive_now[k]
    store3(par.drive_push[k], 0, load3(now, Now.VALUE))
    for j in range(par.mass.shape[0]):
        m = par.mass[j]
        add3(par.f[j], 0, scaled(m, load3(now, Now.VALUE)))
        par.drive_rate[k] += m * dot(load3(now, Now.SLOPE), load3(z, 3 * j))


def add_load(z, k, par):
    """Add a force, tweezers or a torque."""
    j = par.drive_body[k]
    rotation = body_rotation(z, par.mass.shape[0], j)
    if par.drive_sort[k] == TORQUE:
        add3(par.tau[j], 0, turnable(transposed_times(rotation, load3(par.drive_now[k], Now.VALUE)), j, par))
        return
    arm = load3(par.drive[k], Drive.AT)
    force, rate = pull(add(load3(z, 3 * j), times(rotation, arm)), k, par)
    add3(par.f[j], 0, force)
    add3(par.tau[j], 0, turnable(cross(arm, transposed_times(rotation, force)), j, par))
    store3(par.drive_push[k], 0, force)
    par.drive_rate[k] = rate


# Bodies with prescribed motion ----------------------------------------------------------------------------------------


def prescribed_quaternion(k, par):
    """The orientation of the axes in which the body was given, and its angular velocity in space, 2 u' u^-1."""
    now = par.drive_now[k]
    u = load4(now, Now.QUATERNION)
    v = load4(now, Now.QUATERNION_SLOPE)
    square = u[0] * u[0] + u[1] * u[1] + u[2] * u[2] + u[3] * u[3]
    turn = product(v, (u[0], -u[1], -u[2], -u[3]))
    f = 2.0 / square
    length = math.sqrt(square)
    return (u[0] / length, u[1] / length, u[2] / length, u[3] / length), (f * turn[1], f * turn[2], f * turn[3])


def moved_power(k, force, torque, par):
    """w' of a moved body on which this force and this torque act, in space."""
    rate = 0.0
    if par.drive[k, Drive.POSITION] == 1.0:
        rate += dot(force, load3(par.drive_now[k], Now.SLOPE))
    if par.drive[k, Drive.ORIENTATION] == 1.0:
        spin = prescribed_quaternion(k, par)[1]
        rate += dot(torque, spin)
    return rate


def place_moved(z, par):
    """Move prescribed bodies to where they are at the times of their clocks."""
    for k in range(par.drive_sort.shape[0]):
        if par.drive_sort[k] == MOVED:
            drive_values(z[clock_place(z, k, par)], k, par, par.drive_now[k])
            j = par.drive_body[k]
            if par.drive[k, Drive.POSITION] == 1.0:
                store3(z, 3 * j, load3(par.drive_now[k], Now.VALUE))
            if par.drive[k, Drive.ORIENTATION] == 1.0:
                own = prescribed_quaternion(k, par)[0]
                set_orientation(z, par.mass.shape[0], j, product(own, load4(par.frame[j], 0)))


# Splitting ---------------------------------------------------------------------------------------------------------


def driven_force(z, par, out):
    """Forces and torques in the places of the momenta, w' in those of the works."""
    views.force(z, par, out)
    for k in range(par.drive_sort.shape[0]):
        out[work_place(z, k, par)] = par.drive_rate[k]


def driven_kick(z, e, h, par, out):
    """Kick the momenta, then the works; a torque works with the mean of the spins before and after."""
    n = par.mass.shape[0]
    count = par.drive_sort.shape[0]
    for k in range(count):
        store3(par.drive_spin[k], 0, load3(z, momentum_place(n, par.drive_body[k]) + 3 * n))
    status = views.kick(z, e, h, par, out)
    for k in range(count):
        rate = out[work_place(z, k, par)]
        if par.drive_sort[k] == TORQUE:
            drive_values(z[clock_place(z, k, par)], k, par, par.drive_now[k])
            spin = load3(z, momentum_place(n, par.drive_body[k]) + 3 * n)
            rate = torque_power(z, k, scaled(0.5, add(load3(par.drive_spin[k], 0), spin)), par)
        summation.add(z, e, work_place(z, k, par), h * rate)
    return status


def torque_power(z, k, y, par):
    """w' of a torque on a body with the angular momentum y, principal axes."""
    j = par.drive_body[k]
    torque = transposed_times(body_rotation(z, par.mass.shape[0], j), load3(par.drive_now[k], Now.VALUE))
    return -par.turns[j] * dot(torque, diagonal_times(load3(par.inverse[j], 0), y))


def driven_drift(z, e, h, par, work):
    """Free motion, with the clocks and the prescribed motions."""
    status = views.drift(z, e, h, par, work)
    if status == 0:
        for k in range(par.drive_sort.shape[0]):
            summation.add(z, e, clock_place(z, k, par), h)
        place_moved(z, par)
    return status


# Field -------------------------------------------------------------------------------------------------------------


def driven_field(z, par, out):
    """The canonical equations; clocks advance with time."""
    place_moved(z, par)
    views.field(z, par, out)
    for k in range(par.drive_sort.shape[0]):
        out[clock_place(z, k, par)] = 1.0
    add_work_rates(z, par, out)


def driven_rate(z, par, out):
    """Rates of the momenta, and of the works."""
    views.momentum_rate(z, par, out)
    add_work_rates(z, par, out)


def add_work_rates(z, par, out):
    """w' of all drives, after the forces were computed."""
    for k in range(par.drive_sort.shape[0]):
        rate = par.drive_rate[k]
        if par.drive_sort[k] == TORQUE:
            rate = torque_power(z, k, body_momentum(z, par.mass.shape[0], par.drive_body[k]), par)
        out[work_place(z, k, par)] = rate


def driven_field_end(b, par):
    """r, q, p, g, clocks, works."""
    n = par.mass.shape[0]
    count = par.drive_sort.shape[0]
    if b < 3:
        return 3 * n if b == 0 else (7 * n if b == 1 else 10 * n)
    return 14 * n + count * (b - 3)


def driven_step(z, e, dt, par, tab, work, carry):
    """A step, after which prescribed bodies are exactly on their path, not where quadrature would put them."""
    status = views.method_step(z, e, dt, par, tab, work, carry)
    if status == 0:
        place_moved(z, par)
    return status


# What is recorded --------------------------------------------------------------------------------------------------


def publish_driven(z, par, row):
    """The public fields; prescribed bodies get the momenta of their motion."""
    views.publish(z, par, row)
    n = par.mass.shape[0]
    for k in range(par.drive_sort.shape[0]):
        if par.drive_sort[k] == MOVED:
            drive_values(z[clock_place(z, k, par)], k, par, par.drive_now[k])
            publish_moved(z, k, n, par.drive_body[k], par, row)


def publish_moved(z, k, n, j, par, row):
    """m X', and J omega in the axes in which the body was given."""
    if par.drive[k, Drive.POSITION] == 1.0:
        store3(row, 7 * n + 3 * j, scaled(par.mass[j], load3(par.drive_now[k], Now.SLOPE)))
    if par.drive[k, Drive.ORIENTATION] == 1.0:
        spin = transposed_times(body_rotation(z, n, j), prescribed_quaternion(k, par)[1])
        y = turnable(diagonal_times(load3(par.inertia[j], 0), spin), j, par)
        store3(row, 10 * n + 3 * j, to_space(par.frame[j], y[0], y[1], y[2]))


def measure_driven(z, par, out, scale):
    """The invariants, among them the energy minus the works; then the works themselves."""
    count = par.drive_sort.shape[0]
    last = out.shape[0] - count
    views.measure(z, par, out[:last], scale[:last])
    set_drives(z, par)
    for k in range(count):
        stored = drive_energy(z, k, par)
        work = 0.0 - z[work_place(z, k, par)]
        out[0] += stored - work
        out[last + k] = work
        scale[0] = max(scale[0], max(abs(stored), abs(work)))
        scale[last + k] = max(scale[last + k], abs(work))


def drive_energy(z, k, par):
    """V of drive k."""
    value = load3(par.drive_now[k], Now.VALUE)
    if par.drive_sort[k] == GRAVITY:
        total = 0.0
        for j in range(par.mass.shape[0]):
            total -= par.mass[j] * dot(value, load3(z, 3 * j))
        return total
    if par.drive_sort[k] == FORCE:
        return -dot(value, driven_point(z, k, par))
    if par.drive_sort[k] == TWEEZERS:
        stretch = subtract(driven_point(z, k, par), value)
        return 0.5 * par.drive[k, Drive.STIFFNESS] * dot(stretch, stretch)
    return 0.0
