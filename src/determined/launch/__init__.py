"""Launchers of distributed tasks, which start one process per slot."""
