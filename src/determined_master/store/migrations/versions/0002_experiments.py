"""Experiments, trials, tasks, allocations and what they produce: `0002_experiments.sql`."""

revision = "0002"
down_revision = "0001"
