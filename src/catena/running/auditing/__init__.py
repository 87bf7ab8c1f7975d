"""The audit of a run: what the method promised for each invariant against what was measured.

`drift` fits a line through block means, `jumps` detects changes of level, `size` compares errors with the size of the
quantity, `verdicts` judges one quantity, `table` holds all verdicts. In a heat bath, `means` computes averages and
their errors, and `canonical` compares them with the laws of the temperature.
"""

from .canonical import Canonical, CanonicalRow, Point, Series, judge_members, judge_runs
from .drift import BLOCKS, block_edges, fit_drift
from .jumps import largest_jump, left_by_uneven_blocks
from .means import Means, means_of, means_of_members
from .size import Sizes, lasting_deviation, lasting_of_blocks
from .table import Audit
from .verdicts import EPS, FEWEST_SAMPLES, SEVERITY, AuditRow, Promise, alarm_level, assess, exact_limit, judge

__all__ = [
    "BLOCKS",
    "EPS",
    "FEWEST_SAMPLES",
    "SEVERITY",
    "Audit",
    "AuditRow",
    "Canonical",
    "CanonicalRow",
    "Means",
    "Point",
    "Promise",
    "Series",
    "Sizes",
    "alarm_level",
    "assess",
    "block_edges",
    "exact_limit",
    "fit_drift",
    "judge",
    "judge_members",
    "judge_runs",
    "largest_jump",
    "lasting_deviation",
    "lasting_of_blocks",
    "left_by_uneven_blocks",
    "means_of",
    "means_of_members",
]
