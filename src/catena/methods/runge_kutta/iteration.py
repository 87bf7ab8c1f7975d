"""When to stop iterating on implicit equations: at the level of round-off, not at a tolerance.

The relative change of each field between two sweeps decreases until round-off is reached, then it
stagnates. A stagnation far above round-off is no convergence. Stopping at a tolerance instead lets
the energy drift by the solver's error [hairer2008].
"""

NOISE = 1e-14  # a relative change that round-off alone can make
LEVEL = 1e-12  # largest relative change that stagnation may have
STAGNANT = 3  # sweeps without progress, in a row, that make a stagnation
WORSE = 10  # sweeps without progress, in a row, before giving up
GROWN = 5.0  # times the best change so far, twice in a row: it runs away, even if it might settle somewhere else later
BY_TURNS = 4  # sweeps in which a motion may come up from nothing: the clock moves, then a velocity, a position,
ITSELF = 1.0  # each of which changes by its own size at most
SWEEPS = 200

GO_ON = 0
DONE = 1
FAILED = 2


def judge(largest, smallest, best, worse, sweep):
    """(decision, best, worse) after a sweep with these relative changes of its fields.

    Positions and their momenta are coupled, so an iteration that bounces moves both: one of the two at the level of
    round-off is enough. (Both would be too strict: momenta near an equilibrium are themselves noise.)
    But not at once: fields may change by turns, and then the largest change rises at every second sweep.
    """
    if largest == 0.0:
        return DONE, best, worse
    if not largest < 1e300 or sweep >= SWEEPS:
        return FAILED, best, worse
    if largest < best:
        return GO_ON, largest, 0
    worse += 1
    if worse > 1 and smallest > LEVEL and largest > GROWN * best and (sweep > BY_TURNS or largest > ITSELF):
        return FAILED, best, worse
    if largest <= NOISE or (smallest <= LEVEL and worse >= STAGNANT):
        return DONE, best, worse
    if worse >= WORSE:
        return FAILED, best, worse
    return GO_ON, best, worse
