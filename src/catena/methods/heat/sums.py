"""The memory of a bath, and its record at each sample: sums of squares of the momenta inside the steps."""

from __future__ import annotations

from ...kernels.declarations import Field, Inertia
from ...kernels.marks import Record, within

INSIDE = "over its value in the bath, after the noise of each step, mean since the last sample"
MOVING = 6  # components of bodies that move and rotate; only these have a total momentum


class Sums(Record):
    """The memory of a bath, with room for partial sums.

    Steps made, member, trajectories accepted, steps since the last sample, and the sum of squares of the total momentum
    over them.
    """

    STEP = 1
    MEMBER = 1
    ACCEPTED = 1
    WINDOW = 1
    TOTAL = 25


@within
def count_step(carry):
    """Count a step, in all and since the last sample."""
    carry[Sums.STEP] += 1.0
    carry[Sums.WINDOW] += 1.0


@within
def sum_of_those_there(par, carry, first_part, last_part, first, last):
    """Sum over components first to last - 1 of parts first_part to last_part - 1, held ones left out; their number."""
    stride = int(par.stride[0])
    total = 0.0
    count = 0.0
    for j in range(first_part, last_part):
        for c in range(first, last):
            if par.precision[j, c] != 0.0:
                total += carry[Sums.WIDTH + c * stride + j]
                count += 1.0
    return total, count


def account_momenta(par, carry, row):
    """Write the means since the last sample to row, and reset the sums.

    Squares by component over all parts, squares by part over all components, fourth moments over 3, square of the total
    momentum, each in units of its expected value.
    """
    parts = par.precision.shape[0]
    components = par.precision.shape[1]
    stride = int(par.stride[0])
    window = carry[Sums.WINDOW]
    fourth = 0.0
    all_of_them = 0.0
    for c in range(components):
        total, count = sum_of_those_there(par, carry, 0, parts, c, c + 1)
        row[c] = total / (window * max(count, 1.0))
        all_of_them += count
    for j in range(parts):
        total, count = sum_of_those_there(par, carry, j, j + 1, 0, components)
        row[components + j] = total / (window * max(count, 1.0))
        fourth += carry[Sums.WIDTH + components * stride + j]
    row[components + parts] = fourth / (3.0 * window * max(all_of_them, 1.0))
    if components == MOVING:
        row[components + parts + 1] = carry[Sums.TOTAL] / window
    for k in range(Sums.WINDOW, Sums.WIDTH + (components + 1) * stride):
        carry[k] = 0.0


def accounts_of(inertia: Inertia) -> tuple[Field, ...]:
    """The recorded quantities of the momenta inside the steps, as `account_momenta` writes them."""
    parts, components = inertia.variances.shape
    if inertia.freedoms is not None:
        return _accounts_of_joints(parts)
    by_part = "body_temperature" if inertia.part == "body" else "coordinate_temperature"
    always = (
        Field("equipartition", (components,), ("component",), f"squares of {', '.join(inertia.names)} {INSIDE}"),
        Field(by_part, (parts,), (inertia.part,), f"squares of momenta {INSIDE}"),
        Field("fourth_moment", (), (), f"fourth powers of momenta {INSIDE}"),
    )
    total = Field("total_momentum_square", (), (), f"square of the total momentum {INSIDE}")
    return (*always, total) if components == MOVING else always


def _accounts_of_joints(parts: int) -> tuple[Field, ...]:
    """The same for linked bodies, whose momenta are those of joints."""
    return (
        Field("equipartition", (1,), ("component",), f"momentum times velocity of the joints {INSIDE}"),
        Field(
            "body_temperature", (parts,), ("body",), f"momentum times velocity of the joint that carries it {INSIDE}"
        ),
        Field("fourth_moment", (), (), f"square of the kinetic energy {INSIDE}"),
    )
