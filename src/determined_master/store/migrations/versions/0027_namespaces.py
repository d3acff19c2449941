"""Kubernetes namespaces of workspaces: `0027_namespaces.sql`."""

revision = "0027"
down_revision = "0026"
