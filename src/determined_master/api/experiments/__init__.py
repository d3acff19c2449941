"""Routes of experiments, trials and runs."""
