"""Kubernetes namespaces of workspaces: `0025_namespaces.sql`."""

revision = "0025"
down_revision = "0024"
