"""Messages of the routes for the web UI, below `/api/ui/v1`."""
