"""A script that has nothing to do."""
