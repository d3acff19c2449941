"""Positions in the job queue, and the flight recorder: `0013_queue.sql`."""

revision = "0013"
down_revision = "0012"
