"""Use cases of webhooks, and their delivery."""
