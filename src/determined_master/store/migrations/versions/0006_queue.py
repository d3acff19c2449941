"""Positions in the job queue, and the flight recorder: `0006_queue.sql`."""

revision = "0006"
down_revision = "0005"
