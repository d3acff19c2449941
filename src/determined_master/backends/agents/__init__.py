"""Agents: daemons on machines that run containers for this master."""
