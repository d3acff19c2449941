"""Rows of webhooks and of what they have to deliver."""
