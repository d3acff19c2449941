"""Machines on demand: `0025_machines.sql`."""

revision = "0025"
down_revision = "0024"
