"""One scheduling loop for each resource pool: view, plan, apply."""
