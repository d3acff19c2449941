"""Posts of webhooks to other servers."""
