"""Protocols of the outside world: backends, and the events that they report."""
