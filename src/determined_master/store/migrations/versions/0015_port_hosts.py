"""Ports of tasks by host: `0015_port_hosts.sql`."""

revision = "0015"
down_revision = "0014"
