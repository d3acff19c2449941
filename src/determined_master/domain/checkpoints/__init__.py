"""Checkpoints: the rule of garbage, and the storage of their files."""
