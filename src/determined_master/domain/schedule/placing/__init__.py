"""Which part of a cluster the pods of a task go to."""
