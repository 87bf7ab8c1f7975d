"""
Buckling
========

A rod that is compressed along its axis stays straight up to some load, then buckles. The path of equilibria shows what ends
its stability, and at which load.
"""

import matplotlib.pyplot as plt
import numpy as np

import catena as ct


def rod(n: int) -> ct.Rod:
    """Length, mass and bending stiffness 1, clamped on the left."""
    area, second = np.pi * 1e-6, 0.25 * np.pi * 1e-12
    return ct.Rod.circular(1.0, 1e-3, E=1.0 / second, G=0.4 / second, density=1.0 / area, n=n)


# %%
# Euler's load for a rod with one free end is (pi/2)^2 EI/L^2. The path follows the straight rod until another branch begins:
for n in (5, 9, 17):
    limit = rod(n).equilibrium_path((-1.0, 0.0, 0.0)).limit
    print(f"{n:3d} bodies: {limit.kind} at {limit.load:.6f}, off by {limit.load / (np.pi / 2) ** 2 - 1:.2e}")

# %%
# A rod that is not quite straight has no bifurcation: a small transverse force leads it to one side, and each load has its
# equilibrium. At twice Euler's load its end points backwards.
slender, side = rod(17), np.array([0.0, 0.0, 0.02])
loads, states, found = np.linspace(0.0, 5.0, 21), [], None
for load in loads:
    found = slender.equilibrium(None if found is None else found.state, load=np.array([-load, 0.0, 0.0]) + side)
    assert found.converged
    states.append(found.state)
figure, (left, right) = plt.subplots(1, 2, figsize=(8.0, 3.2), layout="constrained")
for k in range(0, len(loads), 2):
    left.plot(*states[k].position[:, [0, 2]].T, color=plt.colormaps["viridis"](loads[k] / loads[-1]))
left.set(xlabel="x", ylabel="z", aspect="equal")
right.plot(loads, [state.position[-1, 2] for state in states], marker="o", markersize=3)
right.axvline((np.pi / 2) ** 2, color="0.6", linestyle=":")
right.annotate("Euler's load", ((np.pi / 2) ** 2, 0.75), (-5, 0), textcoords="offset points", ha="right", color="0.4")
right.set(xlabel=r"load in $EI/L^2$", ylabel="deflection of the end")

# %%
# The lowest frequency shows stability: it falls to zero at Euler's load, its square along a straight line.
straight = rod(9)
squares = []
for load in (0.0, 0.5, 1.0, 1.5, 2.0, 2.4):
    rest = straight.equilibrium(straight.straight(), load=(-load, 0.0, 0.0))
    squares.append((load, float(rest.lowest)))
print("\n".join(f"load {load:3.1f}: omega^2 = {square:9.6f}" for load, square in squares))
