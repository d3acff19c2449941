"""Use cases of the cluster: agents, resource pools, usage, the master itself."""
