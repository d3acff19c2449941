"""Hands effects to their handlers, with retries."""
