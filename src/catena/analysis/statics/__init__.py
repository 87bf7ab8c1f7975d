"""Chains and linkages at rest, and small motions about rest: equilibria, stability, modes, waves, the rod that a chain tends to."""
