"""Use cases, one module a resource; every one asks access.may."""
