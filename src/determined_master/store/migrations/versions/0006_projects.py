"""Workspaces, projects, the cluster's message, retention of logs: `0006_projects.sql`."""

revision = "0006"
down_revision = "0005"
