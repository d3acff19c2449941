"""One leader at a time, and what runs while a process leads."""
