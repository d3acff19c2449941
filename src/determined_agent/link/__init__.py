"""The connection to the master."""
