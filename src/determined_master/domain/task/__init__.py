"""Shared by tasks of every kind: container specification, ports, SSH files."""
