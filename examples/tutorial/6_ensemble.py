"""
An ensemble
===========

Many starts at once, on all cores, or on a GPU with ``device="cuda"``.
"""

import matplotlib.pyplot as plt
import numpy as np

import catena as ct

# %%
# Starts are a list of states, or arrays with a leading axis for the members. Here 64 stars start close together.
problem = ct.problems.henon_heiles()
near = np.random.default_rng(1).normal(0.0, 1e-3, (64, 2))
starts = {"q": problem.start.q + near, "p": np.tile(problem.start.p, (64, 1))}
many = ct.ensemble(problem, starts, ct.Gauss(4), steps=2000)

# %%
# The audit counts verdicts; it needs no samples in memory. Each member has the same bits as a single run.
print(many.audit())

# %%
# How far the stars have spread, and where they are:
ends = np.asarray(many.final.q)
print(ends.std(axis=0) / near.std(axis=0))

# %%
figure, ax = plt.subplots()
ax.plot(*starts["q"].T, ".", label="start")
ax.plot(*ends.T, ".", label="end")
ax.set(xlabel="q1", ylabel="q2", aspect="equal")
ax.legend()
