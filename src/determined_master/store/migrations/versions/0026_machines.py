"""Machines on demand: `0026_machines.sql`."""

revision = "0026"
down_revision = "0025"
