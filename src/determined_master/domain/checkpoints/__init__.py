"""Checkpoints: which are garbage, and where their files are stored."""
