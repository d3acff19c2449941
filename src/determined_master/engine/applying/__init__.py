"""Applies events: one transaction for all that wait at the same time."""
