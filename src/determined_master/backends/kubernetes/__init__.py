"""The Kubernetes backend: each container is a pod."""
