"""Phase space in public coordinates: conjugate fields, the directions in which they may vary, and the symplectic form.

Whatever variables a method steps, the state has the same public fields. In these the symplectic form is

    dr ^ dp                           positions and momenta in space, coordinates and momenta of a Hamiltonian
    xi . dy' - xi' . dy - y . (xi x xi')    orientations and angular momenta in the body, for the variation R hat(xi)

which is that of T*SO(3) in body coordinates [hairer2006] section VII.5.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..geometry import rotations
from .base import Array, State
from .body import Body


@dataclass(frozen=True, eq=False)
class Pair:
    """A field, the field of its momentum, and the directions in which both may vary.

    Attributes
    ----------
    position, momentum : names of the fields
    axes : for each row of the field (one for each body), the directions in which it may vary, (m, width)
    turning : whether they are unit quaternions and angular momenta in the body, instead of vectors
    factor : momentum divided by the value of the second field
    """

    position: str
    momentum: str
    axes: Sequence[Array]
    turning: bool = False
    factor: float = 1.0


@dataclass(frozen=True, eq=False)
class PhaseSpace:
    """The pairs of a system, and the projection of a nearby state onto its constraints (None: there are none).

    `reduced`: the angular momentum evolves on its own, whatever the orientation. Then methods that do not preserve the
    symplectic form may still preserve its Poisson bracket {y_i, y_j} = -y_k.
    """

    pairs: tuple[Pair, ...]
    project: Callable[[State], State] | None = None
    reduced: bool = False

    def basis(self) -> Array:
        """(k, ambient) unit directions: for every row, the allowed ones of the position, then those of the momentum."""
        blocks = [axes for pair in self.pairs for row in pair.axes for axes in (row, row)]
        width = sum(axes.shape[1] for axes in blocks)
        found, at = [], 0
        for axes in blocks:
            for direction in axes:
                found.append(np.zeros(width))
                found[-1][at : at + len(direction)] = direction
            at += axes.shape[1]
        return np.array(found).reshape(-1, width)

    def sizes(self, states: Sequence[State], *, nothing: float = 1.0) -> Array:
        """(ambient,) scale of every component: the maximum of its field over some states (`nothing` if 0); 1 for
        angles."""
        sizes = []
        for pair in self.pairs:
            largest = [max(float(np.abs(state.fields[name]).max(initial=0.0)) for state in states) or nothing
                       for name in (pair.position, pair.momentum)]  # fmt: skip
            for row in pair.axes:
                width = row.shape[1]
                sizes += [1.0 if pair.turning else largest[0]] * width + [largest[1] * pair.factor] * width
        return np.array(sizes)

    def is_momentum(self) -> NDArray[np.bool_]:
        """(ambient,) whether a component belongs to a momentum."""
        widths = [row.shape[1] for pair in self.pairs for row in pair.axes]
        return np.concatenate([np.repeat([False, True], width) for width in widths])

    def moved(self, state: State, by: Array) -> State:
        """The state after a displacement (ambient,), projected onto the constraints."""
        fields, at = dict(state.fields), 0
        for pair in self.pairs:
            width = pair.axes[0].shape[1]
            parts = by[at : at + 2 * width * len(pair.axes)].reshape(len(pair.axes), 2, width)
            at += parts.size
            where, push = fields[pair.position], fields[pair.momentum]
            if pair.turning:
                turn = rotations.from_vector(parts[:, 0]).reshape(where.shape)
                fields[pair.position] = rotations.multiply(where, turn)
            else:
                fields[pair.position] = where + parts[:, 0].reshape(where.shape)
            fields[pair.momentum] = push + parts[:, 1].reshape(push.shape) / pair.factor
        there = State(fields, state.time)
        return there if self.project is None else self.project(there)

    def displacement(self, state: State, other: State) -> Array:
        """(ambient,) from a state to a nearby one: a chart whose derivative at the state is that of `moved`."""
        parts = []
        for pair in self.pairs:
            shape = (len(pair.axes), pair.axes[0].shape[1])
            first, second = state.fields[pair.position], other.fields[pair.position]
            if pair.turning:
                between = rotations.multiply(rotations.conjugate(first), second)
                # q and -q are the same orientation
                way = (2.0 * between[..., 1:] * np.sign(between[..., :1])).reshape(shape)
            else:
                way = (second - first).reshape(shape)
            push = pair.factor * (other.fields[pair.momentum] - state.fields[pair.momentum]).reshape(shape)
            parts.append(np.stack([way, push], axis=1).ravel())
        return np.concatenate(parts)

    def form(self, state: State) -> Array:
        """(ambient, ambient) matrix of the symplectic form at a state."""
        blocks = []
        for pair in self.pairs:
            width = pair.axes[0].shape[1]
            one, nought = np.eye(width), np.zeros((width, width))
            momenta = pair.factor * np.reshape(state.fields[pair.momentum], (len(pair.axes), width))
            for y in momenta:
                blocks.append(np.block([[-hat(y) if pair.turning else nought, one], [-one, nought]]))
        size = sum(len(block) for block in blocks)
        form, at = np.zeros((size, size)), 0
        for block in blocks:
            form[at : at + len(block), at : at + len(block)] = block
            at += len(block)
        return form


def hat(w: Array) -> Array:
    """The matrix of the cross product, hat(w) v = w x v."""
    return np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])


def turning_axes(body: Body) -> Array:
    """(m, 3) axes about which a body may turn, in the given axes: not the line of a linear body."""
    return body.frame_matrix.T[body.inverse_moments > 0.0]
