"""Power series of the solution, written from the field."""
