"""Use cases of the model registry."""
