"""Runge-Kutta methods, explicit and implicit, and their iterations."""
