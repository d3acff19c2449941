"""The start of a task's containers: specification, files, keys."""
