"""The lines of tasks' logs: output of containers, and events of pods."""
