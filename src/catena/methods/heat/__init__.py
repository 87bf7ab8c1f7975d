"""Methods at a temperature: friction and noise, or accepted and rejected trajectories."""
