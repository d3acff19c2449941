"""Routes of workspaces and projects."""
