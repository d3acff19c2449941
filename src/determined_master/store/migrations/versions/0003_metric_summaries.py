"""Summaries that are written less often than reports come: `0003_metric_summaries.sql`."""

revision = "0003"
down_revision = "0002"
