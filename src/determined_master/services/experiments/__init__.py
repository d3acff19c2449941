"""Use cases of experiments, trials and runs, with their effects."""
