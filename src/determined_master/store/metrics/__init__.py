"""Rows of metrics."""
