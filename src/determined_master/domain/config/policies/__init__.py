"""Config policies: invariant configuration and constraints set by admins."""
