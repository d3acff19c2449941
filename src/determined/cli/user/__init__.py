"""`det user`, `user-group`, `token` and `rbac`: accounts and access."""
