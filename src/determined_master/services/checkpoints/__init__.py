"""Use cases of checkpoints: files, garbage collection, with their effects."""
