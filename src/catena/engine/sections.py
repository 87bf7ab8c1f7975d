"""Crossings located inside the run: sign changes of functions of the state.

A crossing is found by stepping again, from the start of the step in which the sign changed, over the fraction tau of
the step at which the function vanishes. So it has the accuracy of the method (a dense output has less), works with
every method, and leaves the trajectory unchanged, because it uses copies. A method that knows its solution as a series
evaluates that (`rewind`).

marks: [number of rows in `crossings`, last values (m), directions (m), stop flags (m)].
copies: start of the step z (n), e (n); stepped copy z (n), e (n); a published row; a scale row.
crossings: rows [which, time, public fields, invariants].
"""

from ..kernels.marks import size
from ..kernels.summation import put_back
from ..kernels.views import (
    BUFFER_FULL,
    NOT_LOCATED,
    STOPPED,
    crossing_count,
    crossing_value,
    crossing_wanted,
    dimension,
    measure,
    publish,
    rewind,
    step,
)

TAU_RESOLUTION = 2.3e-16
TRIES = 100


@size
def public_width(copies):
    """Length of a published row; always replaced by a literal."""
    return copies.shape[0]


def observe_crossings(z, e, t, dt, par, tab, work, marks, copies, spare, crossings):
    """Find, locate and record the crossings of the step just made from time t."""
    n = dimension(z)
    width = public_width(copies)
    row = copies[4 * n : 4 * n + width]
    scale = copies[4 * n + width :]
    m = crossing_count(marks)
    result = 0
    publish(z, par, row)
    for i in range(m):
        before = marks[1 + i]
        after = crossing_value(i, row, t + dt, par)
        marks[1 + i] = after
        direction = marks[1 + m + i]
        rises = before < 0.0 and after >= 0.0 and direction >= 0.0
        falls = before > 0.0 and after <= 0.0 and direction <= 0.0
        if rises or falls:
            forget(spare)
            tau = locate(i, before, after, t, dt, par, tab, work, n, width, copies, spare)
            if tau < 0.0:
                return NOT_LOCATED
            at = t + tau * dt
            if crossing_wanted(i, row, at, par):
                k = int(marks[0])
                crossings[k, 0] = i
                crossings[k, 1] = at
                for j in range(width):
                    crossings[k, 2 + j] = row[j]
                measure(copies[2 * n : 3 * n], par, crossings[k, 2 + width :], scale)
                marks[0] = k + 1
                if marks[1 + 2 * m + i] != 0.0:
                    result = STOPPED
            publish(z, par, row)
    if result == 0 and int(marks[0]) + m > crossings.shape[0]:
        result = BUFFER_FULL
    return result


def forget(carry):
    """Forget what is known of the solution."""
    for k in range(carry.shape[0]):
        carry[k] = 0.0


def value_after(tau, i, t, dt, par, tab, work, n, width, copies, spare):
    """The crossing function after the fraction tau of the step; the state reached is left in copies."""
    z = copies[2 * n : 3 * n]
    e = copies[3 * n : 4 * n]
    put_back(z, e, copies)
    rewind(spare)
    if step(z, e, tau * dt, par, tab, work, spare) != 0:
        return 0.0, 1
    row = copies[4 * n : 4 * n + width]
    publish(z, par, row)
    return crossing_value(i, row, t + tau * dt, par), 0


def locate(i, before, after, t, dt, par, tab, work, n, width, copies, spare):
    """tau in (0, 1] where the function vanishes, by Chandrupatla's bracketing method; -1 if a step fails.

    T. R. Chandrupatla, Adv. Eng. Software 28 (1997) 145: inverse quadratic interpolation where it is
    safe, bisection elsewhere. The state at the returned tau is left in copies.
    """
    a = 1.0
    fa = after
    b = 0.0
    fb = before
    c = a
    fc = fa
    part = after / (after - before)  # the linear guess, as a fraction of the way from a to b
    best = 1.0
    least = abs(after)
    for _ in range(TRIES):
        tau = a + part * (b - a)
        f, failed = value_after(tau, i, t, dt, par, tab, work, n, width, copies, spare)
        if failed != 0:
            return -1.0
        if (f > 0.0) == (fa > 0.0):
            c = a
            fc = fa
        else:
            c = b
            fc = fb
            b = a
            fb = fa
        a = tau
        fa = f
        if abs(f) < least:
            best = tau
            least = abs(f)
        if f == 0.0 or abs(b - a) <= TAU_RESOLUTION:
            break
        part = 0.5
        xi = (a - b) / (c - b)
        phi = (fa - fb) / (fc - fb)
        if phi * phi < xi and (1.0 - phi) * (1.0 - phi) < 1.0 - xi:
            part = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
        margin = 0.5 * TAU_RESOLUTION / abs(b - a)
        part = min(max(part, margin), 1.0 - margin)
    f, failed = value_after(best, i, t, dt, par, tab, work, n, width, copies, spare)
    return best if failed == 0 else -1.0
