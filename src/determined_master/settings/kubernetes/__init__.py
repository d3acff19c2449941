"""Settings of the Kubernetes resource manager."""
