"""Machines of AWS: instances at their usual price, and spot instances."""
