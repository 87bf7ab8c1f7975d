"""Interactions between the particles of all bodies of a system, whichever bodies they belong to."""
