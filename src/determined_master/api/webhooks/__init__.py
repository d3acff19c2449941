"""Routes of webhooks."""
