"""`det task`: generic tasks, and the tasks of every type."""
