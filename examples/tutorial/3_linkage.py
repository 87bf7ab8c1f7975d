"""
Bodies held by joints
=====================

A pendulum of two boxes: one hangs from a hinge, the other from a ball joint.
"""

import catena as ct

# %%
# A joint names its parent and its child (-1 is the ground), and a point on each, in the axes of that body.
box = ct.Body.box((0.2, 0.2, 1.0), mass=2.0)
top, bottom = (0.0, 0.0, 0.5), (0.0, 0.0, -0.5)
joints = [
    ct.Revolute(-1, 0, at=((0.0, 0.0, 0.0), top), axis=(1.0, 0.0, 0.0)),
    ct.Spherical(0, 1, at=(bottom, top)),
]
pendulum = ct.Linkage([box, box], joints)

# %%
# Positions that you leave out follow from the joints.
start = pendulum.start(orientation=[(0.8, 0.6, 0.0, 0.0), (0.96, 0.0, 0.28, 0.0)])
run = ct.simulate(pendulum, start, dt=0.01, t_end=20.0)
print(run.audit())

# %%
# Energy, joints and the velocities at the joints stay at round-off. The published step for such systems holds only the
# positions at the joints; over a long time the velocities drift away, and the audit says so:
published = ct.simulate(pendulum, start, ct.EnergyMomentum(level="position"), dt=0.01, t_end=20.0)
print(published.audit())

# %%
run.plot.residuals()

# %%
# Energy is exchanged between motion and height:
run.plot.energy_parts()

# %%
# Where it hangs at rest, and the frequencies of small motions about that state. Nothing resists the spin of the lower box:
print(pendulum.normal_modes(pendulum.equilibrium(start)))
