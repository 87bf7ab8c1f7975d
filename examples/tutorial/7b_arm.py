"""
Drive an arm
============

The links and joints of a robot are read from its description (URDF). Motors follow targets by themselves, or are set by a function in Python.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

import catena as ct

# %%
# Targets are texts in t, or tables `ct.Sampled(times, values)`. kp and kd are the torques per angle and per angular velocity that the joint is off; the
# efforts and limits of the file bound them. A warning names what the file holds and is not used: the largest speeds.

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
# The dotted lines are the targets: the arm lags behind them because of its weight and its inertia. These are the torques; the energy less their work is what the
# audit looks at.

run.plot.motor_torques()
print(run.audit())
plt.show()

# %%
# A motor with neither torque nor target is set by a controller, a function that is called at fixed steps, here every 0.02. It is told the time, the angles and speeds of
# its joints, and the state of all bodies; between two calls the torques are held, and the steps stay compiled. This one adds up how far the arm is off (PID). What it
# remembers stands in `memory`, which is kept with the run.

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
# `steered.control` has what the function returned at each call. A run with `out="arm.zarr"` goes on after a stop with `ct.resume("arm.zarr", control=follow)`, to the same
# bytes. `run.view("arm.html")` shows the arm with the torques of its motors.
#
# `ct.Driven(joint, "text in t")` moves a joint exactly as it is told, and `outputs.motor_torque` is then what that takes: inverse dynamics.
