"""The REST API of the master, seen from a client."""
