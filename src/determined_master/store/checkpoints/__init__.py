"""Rows of checkpoints."""
