"""The one loop: steps, samples, crossings."""

from ..views import NOT_FINITE, dimension, measure, observe, publish, remember, step


def advance(
    z, e, t0, dt, first, n_steps, every, par, tab, work, carry, samples, scale, marks, copies, spare, crossings
):
    """Make n_steps steps after step number `first`; returns (status, steps made).

    z, e, carry, scale and marks are the state of the run; samples takes a row (public fields, then
    invariants) after each multiple of `every`; time is t0 + k dt, by product. A state that is not finite
    ends the loop: nothing undefined is ever recorded. n_steps = 0 records the state as it is, the start of a run.
    """
    n = dimension(z)
    width = samples.shape[1] - scale.shape[0]
    row = 0
    if n_steps == 0:
        publish(z, par, samples[0, :width])
        measure(z, par, samples[0, width:], scale)
        return observe(z, e, t0 + first * dt, 0.0, par, tab, work, marks, copies, spare, crossings), 0
    left = every - first % every
    for k in range(n_steps):
        remember(z, e, copies)
        status = step(z, e, dt, par, tab, work, carry)
        if status != 0:
            return status, k
        status = observe(z, e, t0 + (first + k) * dt, dt, par, tab, work, marks, copies, spare, crossings)
        left -= 1
        if left == 0:
            for i in range(n):
                if not abs(z[i]) < 1e300:
                    return NOT_FINITE, k
            publish(z, par, samples[row, :width])
            measure(z, par, samples[row, width:], scale)
            row += 1
            left = every
        if status != 0:
            return status, k + 1
    return 0, n_steps


def remember_nothing(z, e, copies):
    """No section asks for the start of a step."""


def observe_nothing(z, e, t, dt, par, tab, work, marks, copies, spare, crossings):
    """No section looks at the step."""
    return 0
