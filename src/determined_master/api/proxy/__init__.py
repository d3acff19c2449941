"""The proxy to services of tasks: HTTP, WebSocket and TCP."""
