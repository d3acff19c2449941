"""Thin routes over the services, one module a resource."""
