"""How forces of drives change as their bodies move and turn: their contribution to the slopes of `hessian`."""

from ...geometry.vectors import dot, load3, times
from .drive_kernels import FORCE, TWEEZERS, Drive, driven_point, pull, set_drives
from .forces import body_rotation
from .hessian import add_link_slopes, add_turn


def add_drive_slopes(z, par):
    """Add those of forces at points, which turn with the body, and of springs. Torques fixed in space add nothing."""
    add_link_slopes(z, par)
    set_drives(z, par)
    for k in range(par.drive_sort.shape[0]):
        if par.drive_sort[k] == FORCE or par.drive_sort[k] == TWEEZERS:
            j = par.drive_body[k]
            force = pull(driven_point(z, k, par), k, par)[0]
            a = times(body_rotation(z, par.mass.shape[0], j), load3(par.drive[k], Drive.AT))
            own = par.slopes[j, 1]
            add_turn(own, a[0], a[1], a[2], force[0], force[1], force[2])
            if par.drive_sort[k] == TWEEZERS:
                add_spring(own, a, par.drive[k, Drive.STIFFNESS])


def add_spring(own, a, stiffness):
    """-k J^T J with J = (1, -^a), the motion of the point with the body."""
    square = dot(a, a)
    for i in range(3):
        own[i, i] -= stiffness
        l = (i + 1) % 3
        m = (i + 2) % 3
        # the point moves by phi x a: component i by phi_l a_m - phi_m a_l
        own[i, 3 + l] -= stiffness * a[m]
        own[i, 3 + m] += stiffness * a[l]
        own[3 + l, i] -= stiffness * a[m]
        own[3 + m, i] += stiffness * a[l]
        own[3 + i, 3 + i] -= stiffness * square
        for c in range(3):
            own[3 + i, 3 + c] += stiffness * a[i] * a[c]
