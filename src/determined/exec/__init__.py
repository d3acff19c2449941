"""What starts first inside a task."""
