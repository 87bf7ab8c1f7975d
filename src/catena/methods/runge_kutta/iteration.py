"""When to stop iterating on implicit equations: at the level of round-off, not at a tolerance.

The relative change of each field between two sweeps decreases until it reaches round-off, then stagnates. Stagnation
far above round-off does not count as convergence. Stopping at a tolerance instead makes the energy drift by the error
of the solver [hairer2008].
"""

NOISE = 1e-14  # largest relative change that round-off alone can cause
LEVEL = 1e-12  # largest relative change at stagnation
STAGNANT = 3  # sweeps in a row without progress that count as stagnation
WORSE = 10  # sweeps in a row without progress before giving up
GROWN = 5.0  # times the best change so far, twice in a row: it diverges, even if it might settle elsewhere later
BY_TURNS = 4  # sweeps in which a motion may start from rest: the clock moves, then a velocity, then a position,
ITSELF = 1.0  # each of which changes by at most its own size
SWEEPS = 200

GO_ON = 0
DONE = 1
FAILED = 2


def judge(largest, smallest, best, worse, sweep):
    """(decision, best, worse) after a sweep with these relative changes of its fields.

    Positions and their momenta are coupled, so an iteration that does not settle moves both: it is enough if one of the
    two is at the level of round-off. (Requiring both would be too strict: momenta near an equilibrium are themselves
    noise.) This does not hold in the first sweeps: fields may change alternately, and then the largest change rises at
    every second sweep.
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
