"""Routes of the job queue."""
