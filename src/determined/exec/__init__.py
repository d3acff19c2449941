"""The entry chain: the programs that start a task."""
