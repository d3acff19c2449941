"""Rows of experiments, trials and searches."""
