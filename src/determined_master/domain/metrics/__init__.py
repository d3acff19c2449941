"""Metrics: limits of reports, running summaries, extremes of series."""
