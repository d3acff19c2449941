"""One loop a resource pool: view, plan, apply."""
