"""Generic tasks: a user's program with one allocation at a time, which can be paused."""
