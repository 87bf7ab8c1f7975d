"""
Pull a chain
============

An end of a chain need not stand still. `Force`, `Torque`, `Tweezers` and `Moved` take texts in t, or tables
`ct.Sampled(times, values)`. They act on the ends or (except `Moved`), as `loads`, on any body. Here optical tweezers hold
a helix by its last body and pull at constant speed.
"""

# sphinx_gallery_thumbnail_number = 1

import matplotlib.pyplot as plt

import catena as ct

helix = ct.problems.helix_chain(16)
x, y, z = helix.start.position[-1].tolist()
trap = ct.Tweezers(k=20.0, anchor=(f"{x} + 0.02*t", y, z))

# %%
# Force over extension takes three lines: the chain, the run, and the picture. `chain.outputs(run)` has the numbers: force,
# torque, power and work of each end and load along time.

chain = ct.Chain(helix.system.bodies, helix.system.potentials[0], right=trap)
run = ct.simulate(chain, helix.start, dt=0.02, t_end=50.0, every=10)
run.plot.force_extension()
plt.show()

# %%
# The energy of a pulled chain is not conserved. Energy minus work is, and the audit checks this difference.
# `run.data.work` is the work of moving the trap; part of it is still in its spring, and `pull.work` is what has reached the
# chain. `run.plot.work()` draws it, with its power.

print(run.audit())

# %%

pull = chain.outputs(run)
fig, axes = plt.subplots()
axes.plot(run.data.time, run.data.work, label="work of moving the trap")
axes.plot(run.data.time, pull.work.sel(source="right"), label="work done on the chain")
axes.set_xlabel("time")
axes.set_ylabel("work")
axes.legend()
plt.show()

# %%
# `ct.Moved(position=..., orientation=...)` moves a body exactly as prescribed; `pull.force` and `pull.torque` are then the
# force and torque that this needs. In a heat bath, with `method=ct.Langevin(temperature=0.1, friction=0.5)`, the same chain
# gives a noisy curve.
#
# The bonds themselves may also change: `ct.LennardJones("5*(1 + 0.1*sin(t))", 1.0)` has a depth that oscillates.
