"""Kubernetes as what runs containers: each container is a pod."""
