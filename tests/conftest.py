"""Fixtures that every room shares, and who runs which tests."""

from __future__ import annotations

import pytest

pytest_plugins = ["tests.docker_fixture", "tests.postgres"]
pytest.register_assert_rewrite("tests.contracts")  # what differs is told there, too


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give a file's tests to one worker, in their order, unless they name a group.

    What a module shares (a database, a master, a cluster) is then made once, and its tests
    meet the same past in every run.
    """
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))
