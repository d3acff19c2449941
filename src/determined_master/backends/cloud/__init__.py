"""Shared parts of the cloud providers: start script, metadata service, bounded threads."""
