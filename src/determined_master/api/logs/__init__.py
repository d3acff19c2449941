"""Routes of task logs."""
