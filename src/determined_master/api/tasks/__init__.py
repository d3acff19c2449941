"""Routes of tasks and allocations."""
