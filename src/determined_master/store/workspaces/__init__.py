"""Rows of workspaces and projects."""
