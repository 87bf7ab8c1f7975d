"""
A chain
=======

Bodies made of particles. The particles of neighbouring bodies attract and repel each other.
"""

import catena as ct

# %%
# A stable helix of 16 tetrahedra, clamped on the left and pulled on the right. A `Problem` provides a system and a start.
problem = ct.problems.helix_chain(16, right="force", F=(3.0, 0.0, 0.0))
chain, start = problem.system, problem.start
print(chain.bodies[0], chain.left, chain.right)

# %%
# The highest frequency of the chain limits the step. For the default method:
print(chain.suggest_dt(ct.Splitting(4), start))

# %%
run = ct.simulate(chain, start, ct.Splitting(4), dt=0.05, t_end=100.0, every=4)
print(run.audit())

# %%
# The bodies at a few times:
run.plot.snapshots()

# %%
# The lengths of the links along the chain and over time. Waves travel back and forth:
run.plot.link_lengths()

# %%
# The force that holds the clamped end, at the end of the run:
print(chain.reactions(run.final).force[0])

# %%
# Where the chain rests under this pull, whether that is stable, and how it oscillates about that state:
rest = chain.equilibrium(start)
print(rest)
modes = chain.normal_modes(rest, count=6)
print(modes)
modes.plot(modes=(0, 2, 4))

# %%
# With ``out="pull.zarr"`` the samples are streamed into a store and the run can be resumed. ``run.view("pull.html")``
# writes a page in which the chain moves; ``run.export("pull.gsd")`` writes a file for OVITO and other programs.
