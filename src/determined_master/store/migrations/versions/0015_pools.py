"""Bindings of pools to workspaces, and what reports on usage need: `0015_pools.sql`."""

revision = "0015"
down_revision = "0014"
