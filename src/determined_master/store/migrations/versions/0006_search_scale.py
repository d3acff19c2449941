"""Runs follow their trials by one statement: `0006_search_scale.sql`."""

revision = "0006"
down_revision = "0005"
