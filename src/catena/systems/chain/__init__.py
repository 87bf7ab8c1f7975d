"""A chain of rigid bodies: its state and starts, forces, forms, fast tiles, spectrum and outputs."""
