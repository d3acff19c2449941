"""Applies events: one transaction for those that wait together."""
