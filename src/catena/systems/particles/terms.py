"""Kernels of fields on particles, and of angles and dihedral angles between them.

In a step that conserves the energy a term V acts through its gradient at the mean positions ybar, which conserves the
momenta; the remainder of V1 - V0 is corrected along the gradients of squared distances s of its particles (of the
position itself in a field) [gonzalez1999]:

    grad V(ybar) + (V1 - V0 - grad V(ybar).(y1 - y0)) / sum (s1 - s0)^2  sum (s1 - s0) grad s(ybar)

All of it is invariant under rotations if V is. The gradient of a dihedral angle is that of [blondel1996]. V is taken at
the middle of the step in time; its changes in time at both ends, at fixed particles, are work.
"""

from ...geometry.vectors import ZERO, add, add3, cross, dot, load3, mean, negative, scaled, subtract
from ...kernels import elementary as math
from ...kernels.marks import slot, within
from .layout import Frame, Particle, Term

BEND, TWIST = 0, 1
ROUNDING = 4.0 * 2.0**-52  # of V: smaller differences are round-off
STRIDE = 1e-3  # of an arm: step of the differences of forces, for derivatives


@slot
def angle_energy(angle, t, which, par):
    """V of an angle, or of a dihedral angle."""


@slot
def angle_slope(angle, t, which, par):
    """dV/d(angle)."""


@slot
def angle_rate(angle, t, which, par):
    """dV/dt."""


@slot
def field_energy(x, y, z, t, which, par):
    """U of a field."""


@slot
def field_slope(x, y, z, t, which, par):
    """Its gradient."""


@slot
def field_rate(x, y, z, t, which, par):
    """dU/dt."""


@within
def place_of(a, later, moved, par):
    """Particle a at the start of a step (later = 0), at its end (1) or between, displaced by `moved` times its CHANGE."""
    own = par.particle[a]
    x = load3(own, Particle.PLACE)
    if later > 0.0:
        x = add(scaled(1.0 - later, x), scaled(later, load3(own, Particle.PLACE_END)))
    if moved != 0.0:
        x = add(x, scaled(moved, load3(own, Particle.CHANGE)))
    return x


def first_three(term, later, moved, par):
    """The positions of the first three particles of a term."""
    x = place_of(term[Term.FIRST], later, moved, par)
    y = place_of(term[Term.SECOND], later, moved, par)
    z = place_of(term[Term.THIRD], later, moved, par)
    return x, y, z


def angle_of(k, later, moved, par):
    """The angle of term k."""
    term = par.particle_term[k]
    x, y, z = first_three(term, later, moved, par)
    if term[Term.KIND] == BEND:
        u = subtract(x, y)
        v = subtract(z, y)
        w = cross(u, v)
        return math.atan2(math.sqrt(dot(w, w)), dot(u, v))
    b = subtract(z, y)
    n = cross(subtract(y, x), b)
    m = cross(b, subtract(place_of(term[Term.FOURTH], later, moved, par), z))
    return math.atan2(math.sqrt(dot(b, b)) * dot(subtract(y, x), m), dot(n, m))


def angle_gradient(k, later, moved, par):
    """Gradients of the angle of term k by its particles; zero if it is undefined."""
    term = par.particle_term[k]
    x, y, z = first_three(term, later, moved, par)
    if term[Term.KIND] == BEND:
        return bend_gradient(subtract(x, y), subtract(z, y))
    last = place_of(term[Term.FOURTH], later, moved, par)
    return twist_gradient(subtract(x, y), subtract(y, z), subtract(last, z))


def bend_gradient(u, v):
    """With w = u x v: u x w/(|u|^2 |w|) by the first particle, w x v/(|v|^2 |w|) by the last."""
    w = cross(u, v)
    long = math.sqrt(dot(w, w))
    if long == 0.0:
        return ZERO, ZERO, ZERO, ZERO
    first = scaled(1.0 / (dot(u, u) * long), cross(u, w))
    last = scaled(1.0 / (dot(v, v) * long), cross(w, v))
    return first, negative(add(first, last)), last, ZERO


def twist_gradient(f, g, h):
    """With A = f x g and B = h x g: -|g| A/A^2 by the first particle, |g| B/B^2 by the last."""
    a = cross(f, g)
    b = cross(h, g)
    aa = dot(a, a)
    bb = dot(b, b)
    long = math.sqrt(dot(g, g))
    if aa == 0.0 or bb == 0.0:
        return ZERO, ZERO, ZERO, ZERO
    first = scaled(-long / aa, a)
    last = scaled(long / bb, b)
    between = subtract(scaled(dot(f, g) / (aa * long), a), scaled(dot(h, g) / (bb * long), b))
    return first, subtract(between, first), negative(add(between, last)), last


@within
def push_term(k, factor, first, second, third, last, par):
    """Add `factor` times four vectors to the forces on the particles of term k."""
    term = par.particle_term[k]
    add3(par.particle[term[Term.FIRST]], Particle.PUSH, scaled(factor, first))
    add3(par.particle[term[Term.SECOND]], Particle.PUSH, scaled(factor, second))
    add3(par.particle[term[Term.THIRD]], Particle.PUSH, scaled(factor, third))
    if term[Term.KIND] == TWIST:
        add3(par.particle[term[Term.FOURTH]], Particle.PUSH, scaled(factor, last))


def push_angles(factor, moved, par):
    """Add `factor` times the forces of all angles, with the particles displaced by `moved` times their CHANGE."""
    t = par.particle_frame[Frame.TIME]
    for k in range(par.particle_term.shape[0]):
        slope = angle_slope(angle_of(k, 0.0, moved, par), t, par.particle_term[k, Term.POTENTIAL], par)
        first, second, third, last = angle_gradient(k, 0.0, moved, par)
        push_term(k, -factor * slope, first, second, third, last, par)


def push_angles_between(par):
    """Forces of all angles in a step that conserves their energy."""
    t = par.particle_frame[Frame.TIME]
    for k in range(par.particle_term.shape[0]):
        term = par.particle_term[k]
        which = term[Term.POTENTIAL]
        slope = angle_slope(angle_of(k, 0.5, 0.0, par), t, which, par)
        first, second, third, last = angle_gradient(k, 0.5, 0.0, par)
        push_term(k, -slope, first, second, third, last, par)
        v0 = angle_energy(angle_of(k, 0.0, 0.0, par), t, which, par)
        v1 = angle_energy(angle_of(k, 1.0, 0.0, par), t, which, par)
        work = dot(first, displacement(term[Term.FIRST], par)) + dot(second, displacement(term[Term.SECOND], par))
        work += dot(third, displacement(term[Term.THIRD], par))
        if term[Term.KIND] == TWIST:
            work += dot(last, displacement(term[Term.FOURTH], par))
        missing = v1 - v0 - slope * work
        if abs(missing) > ROUNDING * max(abs(v0), abs(v1)):
            make_up(k, missing, par)


@within
def displacement(a, par):
    """The displacement of particle a in the step."""
    return subtract(load3(par.particle[a], Particle.PLACE_END), load3(par.particle[a], Particle.PLACE))


def make_up(k, missing, par):
    """Add forces along the lines between the particles of term k that do the work -missing."""
    term = par.particle_term[k]
    count = 3 + (term[Term.KIND] == TWIST)
    total = 0.0
    for i in range(count):
        for j in range(i + 1, count):
            _, change = stretch(term[Term.FIRST + i], term[Term.FIRST + j], par)
            total += change * change
    if total > 0.0:
        for i in range(count):
            for j in range(i + 1, count):
                middle, change = stretch(term[Term.FIRST + i], term[Term.FIRST + j], par)
                f = scaled(-2.0 * missing * change / total, middle)
                add3(par.particle[term[Term.FIRST + i]], Particle.PUSH, negative(f))
                add3(par.particle[term[Term.FIRST + j]], Particle.PUSH, f)


@within
def stretch(a, b, par):
    """The mean vector from particle a to particle b in a step, and the increase of its square."""
    d0 = subtract(load3(par.particle[b], Particle.PLACE), load3(par.particle[a], Particle.PLACE))
    d1 = subtract(load3(par.particle[b], Particle.PLACE_END), load3(par.particle[a], Particle.PLACE_END))
    middle = mean(d0, d1)
    return middle, 2.0 * dot(middle, subtract(d1, d0))


@within
def in_space(a, later, moved, par):
    """Position of particle a relative to the origin of space."""
    origin = load3(par.particle_frame, Frame.ORIGIN)
    if later > 0.0:
        origin = add(scaled(1.0 - later, origin), scaled(later, load3(par.particle_frame, Frame.ORIGIN_END)))
    return add(origin, place_of(a, later, moved, par))


@within
def feels(a, f, par):
    """1 if field f acts on particle a, else 0."""
    return par.particle_field[a, f]


def push_fields(factor, moved, par):
    """Add `factor` times the forces of all fields."""
    t = par.particle_frame[Frame.TIME]
    for f in range(par.particle_field.shape[1]):
        for a in range(par.particle.shape[0]):
            if feels(a, f, par) == 1:
                x = in_space(a, 0.0, moved, par)
                add3(par.particle[a], Particle.PUSH, scaled(-factor, field_slope(x[0], x[1], x[2], t, f, par)))


def push_fields_between(par):
    """Forces of all fields in a step that conserves their energy."""
    t = par.particle_frame[Frame.TIME]
    for f in range(par.particle_field.shape[1]):
        for a in range(par.particle.shape[0]):
            if feels(a, f, par) == 1:
                x = in_space(a, 0.0, 0.0, par)
                y = in_space(a, 1.0, 0.0, par)
                m = in_space(a, 0.5, 0.0, par)
                gradient = field_slope(m[0], m[1], m[2], t, f, par)
                d = subtract(y, x)
                u0 = field_energy(x[0], x[1], x[2], t, f, par)
                u1 = field_energy(y[0], y[1], y[2], t, f, par)
                missing = u1 - u0 - dot(gradient, d)
                if abs(missing) > ROUNDING * max(abs(u0), abs(u1)):
                    gradient = add(gradient, scaled(missing / dot(d, d), d))
                add3(par.particle[a], Particle.PUSH, negative(gradient))


def push_terms(par):
    """Forces of all terms."""
    push_angles(1.0, 0.0, par)
    push_fields(1.0, 0.0, par)


def push_terms_between(par):
    """Forces of all terms in a step that conserves their energy."""
    push_angles_between(par)
    push_fields_between(par)


def change_terms(par):
    """Changes of the forces of all terms when particles move by their CHANGE: differences of fourth order."""
    largest = 0.0
    for a in range(par.particle.shape[0]):
        own = par.particle[a]
        d = load3(own, Particle.CHANGE)
        largest = max(largest, dot(d, d))
    if largest > 0.0:
        h = STRIDE * par.particle_frame[Frame.LENGTH] / math.sqrt(largest)
        for sign in range(-1, 2, 2):
            push_angles(sign * 2.0 / (3.0 * h), sign * h, par)
            push_fields(sign * 2.0 / (3.0 * h), sign * h, par)
            push_angles(-sign / (12.0 * h), 2.0 * sign * h, par)
            push_fields(-sign / (12.0 * h), 2.0 * sign * h, par)


def add_energies_of_terms(par):
    """Add the energies of all terms to their first particles."""
    for k in range(par.particle_term.shape[0]):
        term = par.particle_term[k]
        v = angle_energy(angle_of(k, 0.0, 0.0, par), par.particle_frame[Frame.TIME], term[Term.POTENTIAL], par)
        par.particle[term[Term.FIRST], Particle.ENERGY] += v
    for f in range(par.particle_field.shape[1]):
        for a in range(par.particle.shape[0]):
            if feels(a, f, par) == 1:
                x = in_space(a, 0.0, 0.0, par)
                u = field_energy(x[0], x[1], x[2], par.particle_frame[Frame.TIME], f, par)
                par.particle[a, Particle.ENERGY] += u


def sum_of_terms(later, t, par):
    """Energy of all terms at the start of a step (later = 0) or at its end (1), at a time."""
    total = 0.0
    for k in range(par.particle_term.shape[0]):
        total += angle_energy(angle_of(k, later, 0.0, par), t, par.particle_term[k, Term.POTENTIAL], par)
    for f in range(par.particle_field.shape[1]):
        for a in range(par.particle.shape[0]):
            if feels(a, f, par) == 1:
                x = in_space(a, later, 0.0, par)
                total += field_energy(x[0], x[1], x[2], t, f, par)
    return total


def rate_of_terms(par):
    """dV/dt of all terms."""
    t = par.particle_frame[Frame.TIME]
    total = 0.0
    for k in range(par.particle_term.shape[0]):
        total += angle_rate(angle_of(k, 0.0, 0.0, par), t, par.particle_term[k, Term.POTENTIAL], par)
    for f in range(par.particle_field.shape[1]):
        for a in range(par.particle.shape[0]):
            if feels(a, f, par) == 1:
                x = in_space(a, 0.0, 0.0, par)
                total += field_rate(x[0], x[1], x[2], t, f, par)
    return total
