"""Pods that the cluster's own queue and scheduler place."""
