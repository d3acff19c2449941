"""Shapes of the REST API: one generated module a group of routes, shared shapes in `types`."""
