"""Connections to the services of tasks, and those that wait for their next request."""
