"""Use cases of hyperparameter searches: previews and starting points."""
