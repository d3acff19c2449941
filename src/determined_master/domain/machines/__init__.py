"""Machines and agents: disabled slots, and the number of machines of a pool."""
