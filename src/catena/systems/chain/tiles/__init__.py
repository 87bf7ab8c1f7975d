"""Chains in tiles: many bodies side by side in vector lanes, or a thread of a GPU for each of them."""
