"""Message shapes of the REST API and of the master-agent link; no behaviour."""
