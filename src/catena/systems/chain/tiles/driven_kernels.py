"""The sweep over a driven chain in tiles: clocks, works, and what is kept of them between two sweeps, after the tiles.

z = (tiles | Tail of each drive | whether constants and forces are in z, length of the pending kick). Forces are written
to the rows of loads, torques to those of the links, so that the sweep itself is that of a chain without drives: kick,
free motion, particles, links; then the drives at the new time. Works are kicked together with the momenta, with the
rates of the same time.
"""

from ....geometry.quaternion import load4, product, rotation, to_body
from ....geometry.vectors import add, cross, diagonal_times, dot, load3, scaled, store3, times, transposed_times
from ....kernels import views
from ....kernels.marks import Record, apart
from ..drive_kernels import (
    GRAVITY,
    MOVED,
    TORQUE,
    Drive,
    Now,
    drive_values,
    moved_power,
    prescribed_quaternion,
    pull,
    turnable,
)
from .kernels import LOAD, F, Q, R, S, T, Y, constants_row, gain, gather, lane_count, stride_of, tile_size


class Tail(Record):
    """The tail of a drive: clock and work with their low parts, w', and the force or acceleration."""

    CLOCK = 1
    CLOCK_LOW = 1
    WORK = 1
    WORK_LOW = 1
    RATE = 1
    PUSH = 3


def tail_place(z, k, par):
    """Index of the tail of drive k."""
    return z.shape[0] - 2 - Tail.WIDTH * (par.drive_sort.shape[0] - k)


def lane_place(z, j):
    """Index of the column of body j: quantity c is c strides further on."""
    lanes = lane_count(z)
    return (j // lanes) * tile_size(z) + j % lanes


def lane_row(z, at, row):
    """Three numbers of a body, starting at a row."""
    n = stride_of(z)
    return z[at + row * n], z[at + (row + 1) * n], z[at + (row + 2) * n]


def lane_quaternion(z, at):
    """The orientation of a body."""
    n = stride_of(z)
    return z[at + Q * n], z[at + (Q + 1) * n], z[at + (Q + 2) * n], z[at + (Q + 3) * n]


def set_lane_row(z, at, row, v):
    """Set three numbers of a body, starting at a row."""
    n = stride_of(z)
    z[at + row * n] = v[0]
    z[at + (row + 1) * n] = v[1]
    z[at + (row + 2) * n] = v[2]


def acting_torque(z, at):
    """Torque on a body by its two links and its drives, in space."""
    s = lane_row(z, at, S)
    t = lane_row(z, at - 1, T)  # of the previous link, in the previous column
    return s[0] - t[0], s[1] - t[1], s[2] - t[2]


def acting_force(z, at):
    """Force on a body by its two links and its loads."""
    f = lane_row(z, at, F)
    before = lane_row(z, at - 1, F)
    load = lane_row(z, at, constants_row(z) + LOAD)
    return f[0] - before[0] + load[0], f[1] - before[1] + load[1], f[2] - before[2] + load[2]


@apart
def drive_tiles(z, par):
    """Forces and torques of the drives at the times of their clocks, and w' of all."""
    count = par.drive_sort.shape[0]
    load = constants_row(z) + LOAD
    for j in range(par.mass.shape[0]):
        set_lane_row(z, lane_place(z, j), load, load3(par.load[j], 0))
    for k in range(count):
        tail = tail_place(z, k, par)
        now = par.drive_now[k]
        drive_values(z[tail + Tail.CLOCK], k, par, now)
        z[tail + Tail.RATE] = 0.0
        if par.drive_sort[k] == GRAVITY:
            store3(z, tail + Tail.PUSH, load3(now, Now.VALUE))
            for j in range(par.mass.shape[0]):
                at = lane_place(z, j)
                m = par.mass[j]
                set_lane_row(z, at, load, add(lane_row(z, at, load), scaled(m, load3(now, Now.VALUE))))
                z[tail + Tail.RATE] += m * dot(load3(now, Now.SLOPE), lane_row(z, at, R))
        elif par.drive_sort[k] != MOVED:
            drive_lane(z, k, tail, par)
    for k in range(count):
        if par.drive_sort[k] == MOVED:
            at = lane_place(z, par.drive_body[k])
            power = moved_power(k, acting_force(z, at), acting_torque(z, at), par)
            z[tail_place(z, k, par) + Tail.RATE] = power


def drive_lane(z, k, tail, par):
    """A force, tweezers or a torque on one body."""
    j = par.drive_body[k]
    at = lane_place(z, j)
    turned = rotation(lane_quaternion(z, at))
    if par.drive_sort[k] == TORQUE:
        torque = turnable(transposed_times(turned, load3(par.drive_now[k], Now.VALUE)), j, par)
    else:
        arm = load3(par.drive[k], Drive.AT)
        force, rate = pull(add(lane_row(z, at, R), times(turned, arm)), k, par)
        load = constants_row(z) + LOAD
        set_lane_row(z, at, load, add(lane_row(z, at, load), force))
        store3(z, tail + Tail.PUSH, force)
        z[tail + Tail.RATE] = rate
        torque = turnable(cross(arm, transposed_times(turned, force)), j, par)
    set_lane_row(z, at, S, add(lane_row(z, at, S), times(turned, torque)))


def work_rate(z, k, push, par):
    """w' of drive k over a kick of this length; a torque works with the mean of the spins before and after it."""
    tail = tail_place(z, k, par)
    if par.drive_sort[k] != TORQUE:
        return z[tail + Tail.RATE]
    j = par.drive_body[k]
    at = lane_place(z, j)
    q = lane_quaternion(z, at)
    drive_values(z[tail + Tail.CLOCK], k, par, par.drive_now[k])
    acting = acting_torque(z, at)
    kicked = to_body(q, acting[0], acting[1], acting[2])
    y = add(lane_row(z, at, Y), scaled(0.5 * push * par.turns[j], kicked))
    own = transposed_times(rotation(q), load3(par.drive_now[k], Now.VALUE))
    return -par.turns[j] * dot(own, diagonal_times(load3(par.inverse[j], 0), y))


def settle_driven(z, par):
    """Compute constants, particles and forces, including those of the drives."""
    views.settle(z, par)
    drive_tiles(z, par)


def sweep_driven(z, e, push, glide, par):
    """Advance works and clocks, move prescribed bodies to their new poses, sweep, and evaluate the drives there."""
    for k in range(par.drive_sort.shape[0]):
        tail = tail_place(z, k, par)
        gain(z, tail + Tail.WORK, tail + Tail.WORK_LOW, push * work_rate(z, k, push, par))
        gain(z, tail + Tail.CLOCK, tail + Tail.CLOCK_LOW, glide)
        if par.drive_sort[k] == MOVED:
            move_lane(z, k, tail, par)
    status = views.sweep(z, e, push, glide, par)
    if status == 0:
        drive_tiles(z, par)
    return status


def move_lane(z, k, tail, par):
    """Move a prescribed body to its pose; it is not kicked, and free motion does not change it."""
    j = par.drive_body[k]
    at = lane_place(z, j)
    n = stride_of(z)
    drive_values(z[tail + Tail.CLOCK], k, par, par.drive_now[k])
    if par.drive[k, Drive.POSITION] == 1.0:
        set_lane_row(z, at, R, load3(par.drive_now[k], Now.VALUE))
    if par.drive[k, Drive.ORIENTATION] == 1.0:
        q = product(prescribed_quaternion(k, par)[0], load4(par.frame[j], 0))
        z[at + Q * n] = q[0]
        z[at + (Q + 1) * n] = q[1]
        z[at + (Q + 2) * n] = q[2]
        z[at + (Q + 3) * n] = q[3]


def keep_driven(z, par):
    """The state with its clocks and works."""
    views.keep(z, par)
    first = tail_place(z, 0, par)
    for i in range(par.kept_tail.shape[0]):
        par.kept_tail[i] = z[first + i]


def recall_driven(z, par):
    """Restore them."""
    views.recall(z, par)
    first = tail_place(z, 0, par)
    for i in range(par.kept_tail.shape[0]):
        z[first + i] = par.kept_tail[i]


@apart
def gather_driven(z, par):
    """r, q, p, y, clocks and works into par.gathered, with the pending kick applied."""
    gather(z, par)
    out = par.gathered
    n = par.mass.shape[0]
    pending = z[z.shape[0] - 1]
    count = par.drive_sort.shape[0]
    for k in range(count):
        tail = tail_place(z, k, par)
        out[13 * n + k] = z[tail + Tail.CLOCK]
        out[13 * n + count + k] = z[tail + Tail.WORK] + pending * work_rate(z, k, pending, par)
        force = load3(z, tail + Tail.PUSH)
        if par.drive_sort[k] == GRAVITY:
            for j in range(n):
                push_gathered(out, n, j, scaled(pending * par.mass[j], force), par)
        else:
            push_gathered(out, n, par.drive_body[k], scaled(pending, force), par)


def push_gathered(out, n, j, change, par):
    """Add to the momentum of body j."""
    for c in range(3):
        out[7 * n + 3 * j + c] += par.moves[j] * change[c]
