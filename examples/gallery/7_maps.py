"""
Maps of many runs
=================

Three pictures that need many runs: a curve over 32 forces, a map of when a double pendulum turns over, and a map of chaos.
Each takes one call.
"""

# sphinx_gallery_thumbnail_number = 3

import matplotlib.pyplot as plt
import numpy as np

import catena as ct

# %%
# **Force and extension.** A sweep calls a function with the names of its grid. Here the function returns a chain of six bodies
# in a heat bath, pulled by the force. Links that bend freely align with the force as dipoles do, and their springs stretch.
# There are four members for each of 32 forces.
stretch, method, body = 4.0, ct.Langevin(1.0, friction=1.0, seed=7), ct.Body.tetrahedron()


def pulled(force):
    chain = ct.Chain([body] * 6, ct.BendTwist(stretch, 0.0, 0.0, (0, 0, 1)), right=ct.Force((0, 0, force)))
    return chain, chain.start(position=[(0, 0, k) for k in range(6)], orientation=[(1, 0, 0, 0)] * 6)


forces = np.linspace(0.125, 4.0, 32)
study = ct.sweep(
    pulled, {"force": forces}, repeats=4, method=method, dt=0.3, steps=4000, every=4,
    reduce={"length": ct.Mean("position[5,2] - position[1,2]")},
)  # fmt: skip
lengths = study.length / 4
theory = 1 / np.tanh(forces) - 1 / forces + forces / stretch

figure, ax = plt.subplots(layout="constrained")
ax.errorbar(forces, lengths.mean("repeat"), lengths.std("repeat", ddof=1), fmt="o", markersize=3, label="measured, two errors")
ax.plot(forces, theory, label="coth x - 1/x + F/stretch, x = F/kT")
ax.set(xlabel="force", ylabel="extension of a link")
ax.legend()

# %%
# **When does a double pendulum turn over?** Two equal masses on equal rods are released from rest at all angles. A custom kernel
# keeps the first time at which the lower rod points upwards, and nothing else of the samples. The motion from the opposite
# angles is the mirror image, so half of the map is enough.
pendulum = ct.Hamiltonian(
    "(a**2 + 2*b**2 - 2*a*b*cos(u - v))/(2*(1 + sin(u - v)**2)) - 2*cos(u) - cos(v)", q=["u", "v"], p=["a", "b"]
)


def first_time(value, t, kept):
    if kept[0] < 0.0 and value > 0.0:
        kept[0] = t


side = 96
angles = (np.arange(side) + 0.5) * (2 * np.pi / side) - np.pi
upper, lower = np.meshgrid(angles[side // 2 :], angles, indexing="ij")
q = np.stack([upper.ravel(), lower.ravel()], axis=1)
many = ct.ensemble(
    pendulum, {"q": q, "p": np.zeros_like(q)}, ct.Gauss(2), dt=0.05, steps=800, keep="nothing",
    reduce={"over": ct.Custom("v**2 - 9.869604401089358", first_time, (-1.0,))},
)  # fmt: skip
half = many.reduced.over.values.reshape(side // 2, side)
over = np.concatenate([half[::-1, ::-1], half])
print(f"{(over < 0).mean():.0%} have not turned over until t = 40")

figure, ax = plt.subplots(layout="constrained")
image = ax.imshow(
    np.where(over < 0, np.nan, over).T, origin="lower", extent=(-np.pi, np.pi, -np.pi, np.pi), cmap="viridis_r", norm="log"
)
depth = 2 * np.cos(angles) + np.cos(angles)[:, None]
ax.contour(angles, angles, depth, levels=[1.0], colors="0.4", linewidths=0.8)  # within it the energy does not suffice
ax.set(xlabel="angle of the upper rod", ylabel="angle of the lower rod", aspect="equal")
figure.colorbar(image, label="time until the lower rod turns over")

# %%
# **A map of chaos.** Stars of the same energy pass q1 = 0 at different heights and with different velocities. Each start has a
# neighbour at a distance of 1e-8. Where motion is regular, the two separate in proportion to time; where it is chaotic,
# exponentially. There are 34 000 members, stepped sixteen at a time in vector registers.
stars = ct.problems.henon_heiles()
energy, count, near = 0.125, 160, 1e-8
height, rise = np.meshgrid(np.linspace(-0.5, 0.75, count), np.linspace(-0.5, 0.5, count), indexing="ij")
left = 2 * energy - rise**2 - height**2 + 2 * height**3 / 3
possible = left > 0
q2, p2, p1 = height[possible], rise[possible], np.sqrt(left[possible])
q, p = np.stack([0 * q2, q2], axis=1), np.stack([p1, p2], axis=1)
pairs = {"q": np.concatenate([q, q + [0.0, near]]), "p": np.concatenate([p, p])}
many = ct.ensemble(stars.system, pairs, ct.Splitting(6), dt=0.2, steps=2000, every=2000, layout="lanes")
print(many.audit())

# %%
first, second = np.concatenate([many.final.q, many.final.p], axis=1).reshape(2, -1, 4)
parted = np.full(possible.shape, np.nan)
parted[possible] = np.log10(np.linalg.norm(second - first, axis=1) / near)
figure, ax = plt.subplots(layout="constrained")
drawn = ax.pcolormesh(height, rise, parted, cmap="magma", vmin=0, rasterized=True)
ax.set(xlabel="q2", ylabel="p2", title=f"Henon-Heiles at the energy {energy}, t = 400")
figure.colorbar(drawn, label="digits lost")
