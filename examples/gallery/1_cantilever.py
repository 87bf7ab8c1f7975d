"""
A cantilever
============

A steel rod, one metre long and 4 mm thick, clamped on the left and loaded at its end: far beyond the reach of linear
theory.
"""

import matplotlib.pyplot as plt
import numpy as np

import catena as ct

# %%
# `ct.Rod` builds the chain that tends to a rod: here 17 bodies that bend, twist, stretch and shear against each other.
rod = ct.Rod.circular(1.0, 0.002, E=2.1e11, G=8.1e10, density=7850.0, n=17)
bending = rod.bending[0]
print(f"EI = {bending:.4g} N m^2, mass {sum(body.mass for body in rod.bodies):.4g} kg")

# %%
# The load grows to six times EI/L^2, in newtons. The path prescribes the deflection, so nothing snaps.
path = rod.equilibrium_path((0.0, 0.0, -1.0), to=6.0 * bending)
print(path)

# %%
# Along the elastica, force and moment balance everywhere; linear beam theory describes only the beginning.
figure, (left, right) = plt.subplots(1, 2, figsize=(8.0, 3.2), layout="constrained")
for k in range(0, len(path.load), 3):
    left.plot(*path.states[k].position[:, [0, 2]].T, color=plt.colormaps["viridis"](path.load[k] / path.load[-1]))
left.set(xlabel="x in m", ylabel="z in m", aspect="equal")
deflection = [-state.position[-1, 2] for state in path.states]
right.plot(path.load, deflection, marker="o", markersize=3, label="the rod")
right.plot([0.0, 2.0 * bending], [0.0, 2.0 / 3.0], "--", color="0.5", label="linear, $PL^3/3EI$")
right.set(xlabel="load in N", ylabel="deflection of the end in m")
right.legend(frameon=False)

# %%
# The tip under the full load, extrapolated to the elastica from 9 and 17 bodies (the error falls with the square of their
# number):
tips = []
for n in (9, 17):
    one = ct.Rod.circular(1.0, 0.002, E=2.1e11, G=8.1e10, density=7850.0, n=n)
    found = one.equilibrium(load=(0.0, 0.0, -6.0 * bending))
    tips.append(found.state.position[-1])
print(found)
print("tip, extrapolated:", ((4.0 * tips[1] - tips[0]) / 3.0).round(6).tolist())

# %%
# Natural frequencies, in hertz, against those of Euler-Bernoulli theory. Each comes twice, once in each plane:
modes = rod.normal_modes(count=6)
beam = np.repeat(np.array([1.875104069, 4.694091133, 7.854757438]) ** 2, 2) * np.sqrt(bending / (7850.0 * np.pi * 0.002**2))
for ours, theirs in zip(modes.omega, beam, strict=True):
    print(f"{ours / (2 * np.pi):10.5f}  {theirs / (2 * np.pi):10.5f}")

# %%
# The third mode. You can turn and play it:
modes.view(mode=2)
