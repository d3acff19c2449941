"""`det dev`: calls of the REST API."""
