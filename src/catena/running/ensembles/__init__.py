"""Ensembles: one program, many members.

`asking` makes members of what a user gave (`starts`, `kinds` of systems, `grids` of sweeps), `running` begins and goes on, `members` hands them to threads, a
`cluster` or a GPU, `following` follows them, `reductions` and `batch` are what is kept of them, `results` and `studies` what came out,
`auditing` judges it, `recording` stores it, `checking` reads it again.
"""

from catena.running.ensembles.batch import Batch
from catena.running.ensembles.following import follow
from catena.running.ensembles.job import Job
from catena.running.ensembles.results import Ensemble, Failure, StoredEnsemble
from catena.running.ensembles.running import ensemble, resume_ensemble

__all__ = ["Batch", "Ensemble", "Failure", "Job", "StoredEnsemble", "ensemble", "follow", "resume_ensemble"]
