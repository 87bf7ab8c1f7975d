"""
Hanging chains
==============

Rods on ball joints form a heavy string if they hang from one end, and a catenary if they hang from both.
"""

import matplotlib.pyplot as plt
import numpy as np

import catena as ct


def hanging(n: int) -> ct.Linkage:
    """n thin rods of total length and mass 1 in gravity 1, joined by balls."""
    half = 0.5 / n
    joints = [ct.Spherical(j - 1, j, at=((0, 0, -half) if j else (0, 0, 0), (0, 0, half))) for j in range(n)]
    return ct.Linkage([ct.Body.rod(2 * half, mass=1 / n)] * n, joints, gravity=(0, 0, -1))


# %%
# Daniel Bernoulli's chain: its frequencies tend to half the zeros of the Bessel function J0. The error falls with the square
# of the number of rods.
string = 0.5 * 2.404825557695773
for n in (1, 2, 4, 8, 16):
    first = hanging(n).normal_modes(count=1).omega[0]
    print(f"{n:3d} rods: {first:.9f}, off by {first / string - 1:.2e}")

# %%
# Four modes of 16 rods, each scaled so that it is easy to see. They come in pairs, one in each plane; every second is shown.
modes = hanging(16).normal_modes(count=8)
figure, axes = plt.subplots(1, 4, figsize=(8.0, 3.4), layout="constrained", sharey=True)
for ax, mode in zip(axes, range(0, 8, 2), strict=True):
    moved = modes.displacement(mode).position
    across = moved[np.argmax(np.linalg.norm(moved, axis=1))]
    shape = np.concatenate([[0.0], moved @ across / np.linalg.norm(across)])
    ax.plot(shape / np.abs(shape).max(), [0.0, *modes.state.position[:, 2]], marker="o", markersize=2.5)
    ax.axvline(0.0, color="0.8", linewidth=0.8, zorder=0)
    ax.set(title=rf"$\omega$ = {modes.omega[mode]:.4f}", xticks=[])
axes[0].set_ylabel("height")

# %%
# Held at both ends: a joint between the last rod and the ground closes a loop. Two straight legs are a suitable start;
# `equilibrium` does the rest.
n, width = 24, 0.6
half = 0.5 / n
tilt = np.arcsin(width)  # of the two legs of a V, to the vertical
legs = [(np.cos(0.5 * a), 0.0, np.sin(0.5 * a), 0.0) for a in [-tilt] * (n // 2) + [tilt - np.pi] * (n // 2)]
box = ct.Body.box((0.01, 0.01, 2 * half), mass=1 / n)
joints = [ct.Revolute(j - 1, j, at=((0, 0, -half) if j else (0, 0, 0), (0, 0, half)), axis=(0, 1, 0)) for j in range(n)]
joints.append(ct.Spherical(-1, n - 1, at=((width, 0, 0), (0, 0, -half))))
cable = ct.Linkage([box] * n, joints, gravity=(0, 0, -1))
rest = cable.equilibrium(cable.start(orientation=legs, project=True))
print(rest)

# %%
# The catenary of the same length, z = a cosh((x - w/2)/a) + c with 2 a sinh(w/2a) = 1, and the middles of the rods:
a = 0.2
for _ in range(50):
    a -= (2 * a * np.sinh(width / 2 / a) - 1) / (2 * np.sinh(width / 2 / a) - width / a * np.cosh(width / 2 / a))
x = np.linspace(0.0, width, 100)
depth = a * np.cosh((x - width / 2) / a) - a * np.cosh(width / 2 / a)
figure, ax = plt.subplots(figsize=(4.5, 3.6), layout="constrained")
ax.plot(x, depth, color="0.6", label="catenary")
ax.plot(*rest.state.position[:, [0, 2]].T, "o", markersize=3, label=f"{n} rods, their middles")
ax.set(xlabel="x", ylabel="z", aspect="equal")
ax.legend(frameon=False)
print("lowest point:", rest.state.position[:, 2].min(), "catenary:", depth.min())

# %%
# The modes of the cable. In each the loop stays closed. You can turn and play the second:
swinging = cable.normal_modes(rest)
print(swinging)
swinging.view(mode=1)
