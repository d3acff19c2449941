"""Ports of a Gateway that lead to services of tasks."""
