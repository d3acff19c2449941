"""Backends that run containers: agents and Kubernetes clusters."""
