"""Prepares a task's container: files, environment, rendezvous, preflight checks."""
