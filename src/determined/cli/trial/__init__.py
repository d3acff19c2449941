"""`det trial`, and the story of a trial or an experiment."""
