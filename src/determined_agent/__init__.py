"""The daemon on each machine: finds slots, runs task containers."""
