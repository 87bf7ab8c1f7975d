"""
Your own Hamiltonian
====================

The energy is a text in names that you choose; catena derives the equations of motion. Sections find where an orbit crosses
a plane; events can stop a run.
"""

import catena as ct

# %%
# The Henon-Heiles potential. Give quantities that you believe to be constant as ``invariants={"name": "text"}``: they are
# sampled and audited like the energy.
system = ct.Hamiltonian("(px**2 + py**2)/2 + (x**2 + y**2)/2 + x**2*y - y**3/3", q=["x", "y"], p=["px", "py"])
start = system.start(q=[0.0, 0.1], p=[0.45, 0.05])

# %%
# A section is found inside the run, to the accuracy of the method:
plane = ct.Section("plane", "x", direction=+1)
run = ct.simulate(system, start, dt=0.1, t_end=5000.0, every=10, sections=[plane])
print(run.audit())

# %%
run.plot.section("plane")

# %%
# The kinetic energy is quadratic in the momenta, so the default is `Splitting(6)`. Its energy error does not grow:
run.plot.energy()

# %%
# `ct.list_methods(system)` lists the methods that can treat a system, with what each promises.
print(len(ct.list_methods(system)), "methods")
