"""Leader election, and everything that runs only while a process leads."""
