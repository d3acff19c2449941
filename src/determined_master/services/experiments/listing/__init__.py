"""Lists of experiments and runs, and pages of single ones."""
