"""Periodic work of a leader beside the engine and the pools, and what keeps it running."""
