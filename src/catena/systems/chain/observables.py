"""Quantities of a chain beside its state: energies of the links, forces and torques on the end bodies."""

from ...geometry.quaternion import to_space
from .forces import bond_energy, find_forces, link_count, pair_energies


def observe_chain(states, par, out):
    """For each row r | q | p | y of `states`: energy of each link, then force and torque in space on the two end bodies."""
    n = par.mass.shape[0]
    for i in range(states.shape[0]):
        z = states[i]
        find_forces(z, par)
        for j in range(link_count(n)):
            out[i, j] = pair_energies(z, j, par) + bond_energy(z, j, par)
        for side in range(2):
            j = side * (n - 1)
            k = link_count(n) + 6 * side
            q = 3 * n + 4 * j
            for a in range(3):
                out[i, k + a] = par.f[j, a]
            torque = to_space(z[q : q + 4], par.tau[j, 0], par.tau[j, 1], par.tau[j, 2])
            out[i, k + 3], out[i, k + 4], out[i, k + 5] = torque
