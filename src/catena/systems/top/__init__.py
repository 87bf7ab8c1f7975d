"""A rigid body with a fixed point in a potential of its orientation."""
