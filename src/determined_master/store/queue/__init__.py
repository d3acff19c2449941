"""Rows of the job queue and of the scheduler's flight recorder."""
