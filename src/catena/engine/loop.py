"""The one loop: steps, samples, looks between them, crossings."""

from ..kernels.lanes import holds
from ..kernels.views import NOT_FINITE, account, account_width, dimension, measure, observe, publish, remember, step
from .looks import look_after, stride_at, take_look


def advance(
    z, e, t0, dt, first, n_steps, every, par, tab, work, carry, samples, scale, looks, marks, copies, spare, crossings
):
    """Make n_steps steps after step number `first`; returns (status, steps made).

    z, e, carry, scale, looks and marks are the state of the run; samples takes a row (public fields, then invariants,
    then the sums of the method since the last row) after each multiple of `every`; time is t0 + k dt, as a product. A
    state that is not finite ends the loop: nothing undefined is ever recorded. n_steps = 0 records the state as it is,
    the start of a run, and leaves the method's part of the row unchanged.

    Samples may coincide with a period of the motion and always see the same phase. So the invariants are also
    looked at between samples, at steps without any period (`look_after`), and so are the magnitudes of their
    terms: the largest along a run shows its worst moment, the mean shows what is usual.
    """
    n = dimension(z)
    end = samples.shape[1] - account_width(carry)
    width = end - scale.shape[0]
    row = 0
    if n_steps == 0:
        publish(z, par, samples[0, :width])
        measure(z, par, samples[0, width:end], scale)
        return observe(z, e, t0 + first * dt, 0.0, par, tab, work, marks, copies, spare, crossings), 0
    due = (first // every + 1) * every
    look = look_after(first)
    stop = min(due, look)
    for k in range(n_steps):
        remember(z, e, copies)
        status = step(z, e, dt, par, tab, work, carry)
        if status != 0:
            return status, k
        status = observe(z, e, t0 + (first + k) * dt, dt, par, tab, work, marks, copies, spare, crossings)
        if first + k + 1 == stop:
            if stop == due:
                for i in range(n):
                    if not holds(abs(z[i]) < 1e300):
                        return NOT_FINITE, k
                publish(z, par, samples[row, :width])
                measure(z, par, samples[row, width:end], scale)
                account(par, carry, samples[row, end:])
                row += 1
                due += every
            if stop == look:
                take_look(z, par, stride_at(look), looks)
                look = look_after(look)
            stop = min(due, look)
        if status != 0:
            return status, k + 1
    return 0, n_steps


def account_nothing(par, carry, row):
    """The method accumulates nothing."""


def remember_nothing(z, e, copies):
    """No section needs the start of a step."""


def observe_nothing(z, e, t, dt, par, tab, work, marks, copies, spare, crossings):
    """No section observes the step."""
    return 0
