"""What a task's containers are started with."""
