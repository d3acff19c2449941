"""Slots that are devices of Dynamic Resource Allocation."""
