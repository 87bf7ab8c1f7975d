"""
Waves along a chain
===================

In a uniform chain every body follows from the previous one by the same screw, and six kinds of waves run along it.
"""

import matplotlib.pyplot as plt
import numpy as np

import catena as ct

# %%
# Stretch and twist begin at k = 0. Bending begins where the phase keeps pace with the screw, because a shift across the axis
# turns by the screw's angle from body to body.
helix = ct.problems.helix_chain(8)
k = np.linspace(0.0, np.pi, 200)
waves = helix.system.dispersion(k, at=helix.start)
rod = helix.system.rod_limit(at=helix.start)
figure, (left, right) = plt.subplots(1, 2, figsize=(8.0, 3.4), layout="constrained")
waves.plot(ax=left)
short, near = k[k < 0.8], k[np.abs(k - waves.angle) < 0.8]
left.plot(short, np.outer(short, rod.speeds), "--", color="tab:orange")
left.plot(near, rod.bending_coefficients[0] * (near - waves.angle) ** 2, "--", color="tab:orange", label="the rod")
left.legend(frameon=False)
right.plot(k, waves.velocity, linewidth=1.0)
right.set(xlabel="phase per body  $k$", ylabel="group velocity, bodies per time")

# %%
# Under a pull T bending waves become those of a string: linear in the distance from k = theta, with the slope sqrt(T/(m h)):
pulled = ct.problems.helix_chain(32, right="force", F=(3.0, 0.0, 0.0), amp=0.0)
rest = pulled.system.equilibrium(pulled.start)
angle = pulled.system.dispersion(0.0, at=rest).angle
near = pulled.system.dispersion(angle + np.array([1e-3, 1e-2, 1e-1]), at=rest)
print("slopes:", (near.omega[:, 0] / [1e-3, 1e-2, 1e-1]).round(6).tolist())
print("string:", round(float(np.sqrt(3.0 / (4.0 * near.rise))), 6))

# %%
# A zigzag turns by half a turn from body to body: both bending waves begin at k = pi, and differ.
zigzag = ct.problems.helix_chain(8, state="zigzag", amp=0.0)
figure, ax = plt.subplots(figsize=(4.5, 3.2), layout="constrained")
zigzag.system.dispersion(k, at=zigzag.start).plot(ax=ax)
print("bending, b:", zigzag.system.rod_limit(at=zigzag.start).bending_coefficients)
