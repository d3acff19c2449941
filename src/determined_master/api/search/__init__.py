"""Routes of hyperparameter searches."""
