"""Where the numbers of particles stand in the arrays that their kernels share.

Particles are numbered through all bodies, those of a body one after the other. par.particle_first[i] is the first of body i (the last
number: how many there are), par.particle_place (particles, 3) where they are in the principal axes of their bodies.
"""

from ...kernels.marks import Record


class Sort(Record):
    """par.particle_sort[a]: integers of particle a."""

    BODY = 1
    TYPE = 1


class Particle(Record):
    """par.particle[a]: scratch of particle a, where forces are taken or at the start of a step, and at its end."""

    PLACE = 3  # from the centre of the first body: pairs are as good far from the origin as near it
    PLACE_END = 3
    PUSH = 3  # force
    ENERGY = 1  # of the pairs with particles behind it
    ARM = 3  # from the centre of its body, in space
    ARM_END = 3
    CHANGE = 3  # of its place, for derivatives
    KEPT = 3  # the force whose changes are looked for


class Center(Record):
    """par.particle_center[i]: scratch of body i."""

    FORCE = 3  # what its particles feel
    TORQUE = 3  # about its centre, in space


class Frame(Record):
    """par.particle_frame: scratch of all particles together."""

    ORIGIN = 3  # in space, from which places are counted
    ORIGIN_END = 3
    TIME = 1  # at which potentials are taken
    RATE = 1  # dV/dt where forces were found last
    RATE_BEFORE = 1  # and before
    LENGTH = 1  # the longest arm of a particle


class Term(Record):
    """par.particle_term[k]: integers of a potential of an angle."""

    KIND = 1
    POTENTIAL = 1
    FIRST = 1  # its particles
    SECOND = 1
    THIRD = 1
    FOURTH = 1


class Listing(Record):
    """par.particle_listing: state of the lists of partners."""

    MADE = 1  # 1 if they are
    FULL = 1  # 1 if there is no room for all partners
    LOW = 3  # corner of the cells
    WIDTH_OF_CELLS = 3
    CELLS = 3  # their number along each axis
