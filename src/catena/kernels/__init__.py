"""Building blocks of every kernel: marks, the slots of the views, compensated sums, fused multiply-add, elimination."""
