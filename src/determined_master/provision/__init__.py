"""Machines on demand: the clouds that they come from, and the script that makes agents of them."""
