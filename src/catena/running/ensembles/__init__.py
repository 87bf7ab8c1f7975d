"""Ensembles: one program, many members.

`asking` makes members from the arguments of a user (`starts`, `kinds` of systems, `grids` of sweeps), `running` starts
and resumes ensembles, `members` distributes members to threads, a `cluster` or a GPU, `following` steps them,
`reductions` and `batch` hold what is kept of them, `results` and `studies` present the results, `auditing` judges them,
`recording` stores them, `checking` reads stores.
"""

from catena.running.ensembles.batch import Batch
from catena.running.ensembles.following import follow
from catena.running.ensembles.job import Job
from catena.running.ensembles.results import Ensemble, Failure, StoredEnsemble
from catena.running.ensembles.running import ensemble, resume_ensemble

__all__ = ["Batch", "Ensemble", "Failure", "Job", "StoredEnsemble", "ensemble", "follow", "resume_ensemble"]
