"""Routes for the web UI, below `/api/ui/v1`."""
