"""Kubernetes namespaces of workspaces: `0026_namespaces.sql`."""

revision = "0026"
down_revision = "0025"
