"""Services of the cluster's history: what happened to all things, in one list."""
