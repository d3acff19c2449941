"""The WebSocket of changed entities."""
