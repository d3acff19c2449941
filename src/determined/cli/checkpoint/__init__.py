"""`det checkpoint`: list, download and delete checkpoints."""
