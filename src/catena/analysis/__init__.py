"""Analysis of a run or a system beyond its motion."""
