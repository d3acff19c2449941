"""A Kubernetes API server in memory, and a kubelet that runs pods as plain processes."""
