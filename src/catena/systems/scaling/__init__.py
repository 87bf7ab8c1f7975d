"""A rigid body that may also change its size."""
