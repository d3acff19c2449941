"""Rows of entities that streams send."""
