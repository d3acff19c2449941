"""Workspaces, projects, the cluster's message, retention of logs: `0008_projects.sql`."""

revision = "0008"
down_revision = "0007"
