"""The controller of a pool's machines: its decisions, its state and its back-offs."""
