"""The layout of the arrays that the kernels of particles share.

Particles are numbered through all bodies, body by body. par.particle_first[i] is the first particle of body i (the last
number: their count), par.particle_place (particles, 3) their positions in the principal axes of their bodies.
"""

from ...kernels.marks import Record


class Sort(Record):
    """par.particle_sort[a]: integers of particle a."""

    BODY = 1
    TYPE = 1


class Particle(Record):
    """par.particle[a]: scratch of particle a, at the positions of forces or at the start of a step, and at its end."""

    PLACE = 3  # from the centre of the first body, so that pairs lose no digits far from the origin
    PLACE_END = 3
    PUSH = 3  # force
    ENERGY = 1  # of the pairs with later particles
    ARM = 3  # from the centre of its body, in space
    ARM_END = 3
    CHANGE = 3  # of its place, for derivatives
    KEPT = 3  # the force whose changes are computed


class Center(Record):
    """par.particle_center[i]: scratch of body i."""

    FORCE = 3  # on its particles
    TORQUE = 3  # about its centre, in space


class Frame(Record):
    """par.particle_frame: scratch of all particles together."""

    ORIGIN = 3  # in space, reference point of positions
    ORIGIN_END = 3
    TIME = 1  # at which potentials are evaluated
    RATE = 1  # dV/dt where forces were last computed
    RATE_BEFORE = 1  # and previously
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

    MADE = 1  # 1 if they exist
    FULL = 1  # 1 if not all partners fit
    LOW = 3  # corner of the cells
    WIDTH_OF_CELLS = 3
    CELLS = 3  # their number along each axis
