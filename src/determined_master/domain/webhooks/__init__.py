"""Webhooks: which events they report, and what is sent."""
