"""Passes effects to their handlers, with retries."""
