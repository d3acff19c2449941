"""Use cases of tasks of every kind and their allocations, with their effects."""
