"""Parts of the Core API for programs that the cluster did not start."""
