"""Periodic work of a leader besides the engine and the pools."""
