"""Ports of tasks by host: `0016_port_hosts.sql`."""

revision = "0016"
down_revision = "0015"
