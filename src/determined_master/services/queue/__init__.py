"""Use cases of the job queue."""
