"""Devices of Dynamic Resource Allocation: which of them are slots, and which are free."""
