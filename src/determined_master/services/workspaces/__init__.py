"""Use cases of workspaces and projects."""
