"""Ensembles: one system, one method, many starts.

`running` asks and answers, `members` follows them, `results` is what came out, `auditing` judges it, `recording` stores it.
"""

from catena.running.ensembles.batch import Batch
from catena.running.ensembles.following import follow
from catena.running.ensembles.job import Job
from catena.running.ensembles.results import Ensemble, Failure, StoredEnsemble
from catena.running.ensembles.running import ensemble, resume_ensemble

__all__ = ["Batch", "Ensemble", "Failure", "Job", "StoredEnsemble", "ensemble", "follow", "resume_ensemble"]
