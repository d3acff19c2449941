"""The harness's fixtures, for the examples."""

from tests.harness.conftest import master, task

__all__ = ["master", "task"]
