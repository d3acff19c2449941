"""Routes of checkpoints."""
