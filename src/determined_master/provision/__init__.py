"""Machines on demand: a loop for each pool that has a provider, the providers, and the script that
makes an agent of a machine."""
