"""Rules of a trial: its states, restarts and allocations."""
