"""Rows of agents, machines, resource pools and usage."""
