"""Rows of users, groups, roles, sessions and tokens."""
