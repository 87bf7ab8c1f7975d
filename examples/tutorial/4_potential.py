"""
Your own potential
==================

A pair potential is a text in the distance r. catena derives forces and Hessians, and compiles them with everything else.
"""

import catena as ct

# %%
mine = ct.PairPotential("depth*((s/r)**12 - 2*(s/r)**6)", {"depth": 5.0, "s": 2 ** (1 / 6)})
print(mine.energy(1.2), mine.force(1.2))
print(ct.LennardJones(epsilon=5.0, sigma=1.0).energy(1.2))

# %%
# Potentials can be added. `Switched` ends one smoothly; a method of order p needs p - 1 continuous derivatives.
charged = mine + ct.Yukawa(0.3, 1.0)
short = ct.Switched(charged, r_on=3.0, r_cut=4.0, smoothness=5)
print(charged.energy(3.5), short.energy(3.5))

# %%
# The helix of the tutorial on chains, whose particles now carry screened charges as well:
start = ct.problems.helix_chain(6).start
chain = ct.Chain([ct.Body.tetrahedron()] * 6, charged, left=ct.Clamped(), right=ct.Free())
run = ct.simulate(chain, start, dt=0.02, t_end=20.0)
print(run.audit())

# %%
# A link potential depends on the relative position and rotation of two neighbours. `BendTwist` is an elastic rod, here a
# beam that is clamped at one end and sags. `LinkPotential("...")` takes any text in d1, d2, d3 and Q11 to Q33.
elastic = ct.BendTwist(stretch=200.0, bend=3.0, twist=2.0, d0=(0.0, 0.0, 1.0))
beam = ct.Chain([ct.Body.box((0.3, 0.3, 1.0), mass=1.0)] * 6, elastic, gravity=(0.0, -0.05, 0.0))
level = beam.start([[0.0, 0.0, 1.0 * j] for j in range(6)])
swing = ct.simulate(beam, level, dt=0.02, t_end=20.0)
print(swing.audit())

# %%
swing.plot.snapshots()
