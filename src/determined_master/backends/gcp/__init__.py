"""Machines of GCP: instances of Compute Engine."""
