"""Periodic work: retention, silent allocations, idle tasks."""
