"""Machines on demand: a loop for each pool that has a provider, and the providers."""
