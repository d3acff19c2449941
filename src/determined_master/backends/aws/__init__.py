"""Machines of AWS: on-demand instances and spot instances."""
