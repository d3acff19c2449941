"""A pytest plugin that writes down which collected tests carry which marks of `covers`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Where to write to."""
    parser.addoption("--covers-listing", help="file for a JSON object: reference, row, tests")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Write the listing."""
    found: dict[str, dict[str, list[str]]] = {}
    for item in session.items:
        for mark in item.iter_markers("covers"):
            name, *rows = mark.args
            for row in rows:
                found.setdefault(name, {}).setdefault(row, []).append(item.nodeid)
    Path(session.config.getoption("--covers-listing")).write_text(json.dumps(found))
