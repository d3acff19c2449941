"""Routes of users, groups, roles and tokens."""
