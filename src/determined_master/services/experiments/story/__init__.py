"""Stories of experiments, trials and allocations."""
