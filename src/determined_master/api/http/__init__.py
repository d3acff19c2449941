"""The HTTP side of the API: route table, middleware, JSON, errors."""
