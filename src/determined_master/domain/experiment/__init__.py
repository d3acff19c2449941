"""Rules of an experiment: its states and its search."""
