"""Routes of metrics."""
