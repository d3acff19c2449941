"""Use cases of metrics: reporting, storing, summaries, series."""
