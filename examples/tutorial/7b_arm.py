"""
Drive an arm
============

The links and joints of a robot are read from its description (URDF). Motors follow targets, or a Python function sets
them.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

import catena as ct

# %%
# Targets are texts in t, or tables `ct.Sampled(times, values)`. kp is the torque per angle by which a joint is off its
# target, kd the torque per angular velocity. The efforts of the file bound the torques, its limits the angles. A warning
# names what the file contains but is not used: the largest speeds.

targets = {"base": "0.8*sin(t)", "shoulder": "0.5 - 0.5*cos(2*t)", "elbow": "1 - cos(t)"}
kp, kd = np.array([60.0, 150.0, 15.0]), np.array([5.0, 12.0, 0.8])
motors = {name: {"target": target, "kp": kp[k], "kd": kd[k]} for k, (name, target) in enumerate(targets.items())}
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ct.CatenaWarning)
    arm, start = ct.Linkage.from_urdf("arm.urdf", motors=motors, limits=(500.0, 20.0))
run = ct.simulate(arm, start, ct.Gauss(2), dt=0.01, t_end=6.0)
run.plot.joint_angles()
plt.show()

# %%
# The dotted lines are the targets: the arm lags behind them because of its weight and its inertia. The next picture shows
# the torques. The audit checks the energy minus their work.

run.plot.motor_torques()
print(run.audit())
plt.show()

# %%
# A motor with neither torque nor target is set by a controller, a function that is called at fixed steps, here every 0.02.
# It receives the time, the angles and speeds of its joints, and the state of all bodies. Between two calls the torques are
# held, and the steps stay compiled. This controller also integrates the error of the arm (PID). What it remembers is in
# `memory`, which is stored with the run.

with warnings.catch_warnings():
    warnings.simplefilter("ignore", ct.CatenaWarning)
    held, start = ct.Linkage.from_urdf("arm.urdf", motors={name: {} for name in targets}, limits=(500.0, 20.0))


def follow(seen):
    """PID towards the same targets."""
    t = seen.time
    wanted = np.array([0.8 * np.sin(t), 0.5 - 0.5 * np.cos(2 * t), 1 - np.cos(t)])
    rate = np.array([0.8 * np.cos(t), np.sin(2 * t), np.sin(t)])
    late = wanted - seen.angle
    seen.memory[:] += 0.02 * late
    return kp * late + kd * (rate - seen.speed) + 4 * kp * seen.memory


control = ct.Controller(follow, every=2, memory=3)
steered = ct.simulate(held, start, ct.Gauss(2), dt=0.01, t_end=6.0, control=control)

# %%

target = arm.outputs(run).target.sel(joint=1)
fig, axes = plt.subplots()
axes.plot(run.data.time, arm.outputs(run).angle.sel(joint=1) - target, label="PD motors")
axes.plot(run.data.time, held.outputs(steered).angle.sel(joint=1) - target, label="PID in Python")
axes.set_xlabel("time")
axes.set_ylabel("shoulder, from its target (rad)")
axes.legend()
plt.show()

# %%
# `steered.control` has what the function returned at each call. If a run with `out="arm.zarr"` is stopped,
# `ct.resume("arm.zarr", control=follow)` continues it to the same bytes. `run.view("arm.html")` shows the arm with the
# torques of its motors.
#
# `ct.Driven(joint, "text in t")` moves a joint exactly as prescribed; `outputs.motor_torque` is then the torque that this
# needs: inverse dynamics.
