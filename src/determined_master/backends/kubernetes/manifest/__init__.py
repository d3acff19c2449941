"""The Kubernetes objects of one container."""
