"""Chains and linkages at rest, and small motions about rest: equilibria, stability, modes, waves, rod limit."""
