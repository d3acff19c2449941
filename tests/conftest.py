"""Fixtures that every room shares."""

pytest_plugins = ["tests.postgres"]
