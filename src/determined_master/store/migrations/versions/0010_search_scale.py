"""Runs follow their trials by one statement: `0010_search_scale.sql`."""

revision = "0010"
down_revision = "0009"
