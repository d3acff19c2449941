"""Exact totals of lists without counting, and narrower experiments: `0007_list_counts.sql`."""

revision = "0007"
down_revision = "0006"
