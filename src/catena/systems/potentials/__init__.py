"""Potentials between bodies: pair potentials of distance, and link potentials of relative position and rotation."""
