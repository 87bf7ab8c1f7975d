"""Starts of many chains in the variables of splittings, by a kernel: numpy takes ten times as long, mostly for
temporary arrays.

Every number has the bits of `views.to_split`: the same operations in the same order.
"""

from ...geometry.quaternion import load4, product, store4
from ...geometry.vectors import load3, store3


def split_members(position, orientation, momentum, angular_momentum, frames, axes, still, out):
    """r, q, p, y (members, 13 n) of the fields (members, n, ...).

    frames (n, 4), axes (n, 9) row by row: principal axes of the bodies; still (n, 3): not 0 if a body has no moment,
    and so no momentum.
    """
    n = frames.shape[0]
    for k in range(out.shape[0]):
        row = out[k]
        for j in range(n):
            store3(row, 3 * j, load3(position[k, j], 0))
            store4(row, 3 * n + 4 * j, product(load4(orientation[k, j], 0), load4(frames[j], 0)))
            store3(row, 7 * n + 3 * j, load3(momentum[k, j], 0))
            y = load3(angular_momentum[k, j], 0)
            for c in range(3):
                a = 0.0 + axes[j, 3 * c] * y[0] + axes[j, 3 * c + 1] * y[1] + axes[j, 3 * c + 2] * y[2]
                row[10 * n + 3 * j + c] = 0.0 if still[j, c] != 0.0 else a
