"""
A free body
===========

A book thrown into the air turns steadily about its longest and its shortest axis, and flips about the middle one.
"""

import numpy as np

import catena as ct

# %%
# A body is made from its shape (here a box), from particles, from a mesh, or from its moments of inertia. catena finds
# the principal axes, and you never see them: input and output refer to the axes of the shape.
book = ct.Body.box((0.24, 0.17, 0.03), mass=0.8)
print(book.moments)

# %%
# The book turns about the middle axis, with a slight disturbance. `run.audit()` compares, for each invariant, what the
# method promises with what was measured.
system = ct.FreeBody(book)
start = system.start(angular_velocity=(0.01, 6.0, 0.01))
run = ct.simulate(system, start, dt=0.01, t_end=10.0)
print(run.audit())

# %%
# `run.data` is an xarray.Dataset. The middle component of the angular momentum changes sign: the book flips.
print(run.data.angular_momentum.sel(time=[0.0, 1.0, 2.0, 3.0], method="nearest").values)

# %%
# In body axes the angular momentum moves along a curve close to the separatrix:
run.plot.polhode()

# %%
# The default method of a free body is the exact solution. It needs no steps: ask for any times.
late = system.exact([100.0, 1e4, 1e6], start)
print(late.orientation)

# %%
# A stepping method of order 10 agrees with it to round-off:
other = ct.simulate(system, start, ct.DMV(10), dt=0.01, t_end=10.0)
print(np.abs(other.final.angular_momentum - run.final.angular_momentum).max())
