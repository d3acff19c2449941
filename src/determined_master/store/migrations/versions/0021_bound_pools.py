"""Pools that stay closed without any workspace: `0021_bound_pools.sql`."""

revision = "0021"
down_revision = "0020"
