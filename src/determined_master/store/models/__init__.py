"""Rows of the model registry."""
