"""Fixtures that every room shares."""

pytest_plugins = ["tests.docker_fixture", "tests.postgres"]
