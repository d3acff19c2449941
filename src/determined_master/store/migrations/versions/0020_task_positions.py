"""Positions of generic tasks in the job queue: `0020_task_positions.sql`."""

revision = "0020"
down_revision = "0019"
