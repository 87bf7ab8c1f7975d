"""What can be learned from a run or a system beyond its motion."""
