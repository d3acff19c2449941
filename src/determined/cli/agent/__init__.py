"""`det agent`, `slot`, `resource-pool`, `resources`: agents and resource pools."""
