"""Narrow rows of runs, and their values by column, for lists: `0005_lists.sql`."""

revision = "0005"
down_revision = "0004"
