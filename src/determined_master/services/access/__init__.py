"""Use cases of users, groups, roles and tokens."""
