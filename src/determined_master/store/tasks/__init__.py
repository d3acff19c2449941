"""Rows of tasks and allocations."""
