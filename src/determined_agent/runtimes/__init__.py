"""Ways to run a task's process: the base contract and its implementations."""
