"""Routes of the model registry."""
