"""What every kernel is written with: marks, the slots of the views, compensated sums, fused multiply-add, elimination."""
