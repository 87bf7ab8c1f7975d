"""
A chain at a temperature
========================

`Langevin` puts chains, tops, bodies, linkages and Hamiltonians into a heat bath of temperature kT. The results are averages
with errors: the members of an ensemble differ only in their noise, and their spread gives the error.
"""

# sphinx_gallery_thumbnail_number = 1

import matplotlib.pyplot as plt
import numpy as np

import catena as ct

kT = 1.0
method = ct.Langevin(kT, friction=1.0, seed=7)

# %%
# **How far a chain remembers its direction.** Twelve bodies, clamped on the left, with links that resist bending and
# twisting. Each member draws its own momenta and its own noise. The first half of its samples is left out, so that it can
# forget the straight start.

bend, twist = 4.0, 3.0
body = ct.Body.tetrahedron()
chain = ct.Chain([body] * 12, ct.BendTwist(4.0, bend, twist, (0, 0, 1)))
straight = chain.start(position=[(0, 0, k) for k in range(12)], orientation=[(1, 0, 0, 0)] * 12)
many = ct.ensemble(chain, straight, method, dt=0.3, steps=6000, every=20, members=64, keep="samples")

# %%
# The angle between two bodies m links apart has the mean cosine c^m, where c is that of one link: an integral over
# rotations with weight exp((2B - C)u) I0(Cu) in u = (1 + cosine)/2, where B and C are the stiffnesses divided by kT. The
# persistence length is -1/ln c links.

q = np.moveaxis(many.data.orientation.values[:, 150:], -1, 0)
directions = np.stack(
    [2 * (q[1] * q[3] + q[0] * q[2]), 2 * (q[2] * q[3] - q[0] * q[1]), q[0] ** 2 - q[1] ** 2 - q[2] ** 2 + q[3] ** 2],
    axis=-1,
)
links = np.arange(1, 12)
cosines = np.array([(directions[:, :, m:] * directions[:, :, :-m]).sum(axis=-1).mean(axis=(1, 2)) for m in links])
mean, error = cosines.mean(axis=1), cosines.std(axis=1, ddof=1) / 8.0

u = (np.arange(20_000) + 0.5) / 20_000
weight = np.exp((2 * bend - twist) / kT * u) * np.i0(twist / kT * u)
c = np.sum((2 * u - 1) * weight) / np.sum(weight)
print(f"persistence length: {-1 / np.log(mean[0]):.3f} links, by theory {-1 / np.log(c):.3f}")

figure, ax = plt.subplots(layout="constrained")
ax.errorbar(links, mean, 2 * error, fmt="o", label="measured, two errors")
ax.plot(links, c**links, label="theory")
ax.set(xlabel="links between them", ylabel="mean cosine of two directions", yscale="log")
ax.legend()

# %%
# **Force and extension.** Links that bend freely align with a force as dipoles do, by Langevin's function, and their
# springs stretch. The ensemble has one chain for each force and member. The text of a `Mean` is evaluated in the loop, so no
# sample is kept.

stretch, forces = 4.0, np.array([0.25, 0.5, 1.0, 2.0, 3.0, 4.0])
pulled = [ct.Chain([body] * 6, ct.BendTwist(stretch, 0.0, 0.0, (0, 0, 1)), right=ct.Force((0, 0, f))) for f in forces]
start = pulled[0].start(position=[(0, 0, k) for k in range(6)], orientation=[(1, 0, 0, 0)] * 6)
many = ct.ensemble(
    [one for one in pulled for _ in range(16)], start, method, dt=0.3, steps=6000, every=4,
    reduce={"length": ct.Mean("position[5,2] - position[1,2]")},
)  # fmt: skip
lengths = many.reduced.length.values.reshape(len(forces), 16) / 4
fine = np.linspace(0.1, 4.2, 100)
x = fine / kT

figure, ax = plt.subplots(layout="constrained")
ax.errorbar(forces, lengths.mean(axis=1), lengths.std(axis=1, ddof=1) / 2.0, fmt="o", label="measured, two errors")
ax.plot(fine, 1 / np.tanh(x) - 1 / x + fine / stretch, label="coth x - 1/x + F/stretch, x = F/kT")
ax.set(xlabel="force", ylabel="extension of a link")
ax.legend()

# %%
# **Hinges.** Molecules of rigid parts that turn about bonds have fewer degrees of freedom than free bodies. `Langevin` moves
# a linkage along its joints. The masses of the angles depend on the angles, and so does their density, sqrt(det M),
# although no force acts.

joints = [ct.Revolute(k - 1, k, at=((0, 0, 0), (0, 0, 1)), axis=(1, 0, 0)) for k in range(2)]
hinges = ct.Linkage([ct.Body(mass=1.0, moments=(0.05, 0.05, 0.05))] * 2, joints, gravity=(0, 0, 0))
run = ct.simulate(hinges, hinges.maxwell(hinges.start(), kT, seed=3), method, dt=0.1, steps=60_000, every=10)
turned = 2 * np.arctan2(run.data.orientation[..., 1], run.data.orientation[..., 0]).values
angles = np.mod(turned[:, 1] - turned[:, 0], 2 * np.pi)
print(run.audit())

# %%

grid = np.linspace(0.0, 2 * np.pi, 200)
density = np.sqrt(1.05**2 + 1.05 - np.cos(grid) ** 2)
figure, ax = plt.subplots(layout="constrained")
ax.hist(angles, bins=18, range=(0, 2 * np.pi), density=True, alpha=0.5, label="measured")
ax.plot(grid, density / density[:-1].mean() / (2 * np.pi), label="sqrt(det M)")
ax.set(xlabel="angle between the arms", ylabel="density")
ax.legend()

# %%
# The momenta inside the steps have the temperature of the bath, joint by joint:

print(run.data.body_temperature[1:].mean("time").values.round(2))
