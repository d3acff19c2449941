"""Machines on demand: a loop for each pool with a provider. Providers are in `backends`."""
