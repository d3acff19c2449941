"""Which tests carry which marks of `covers`: of those collected, and as a plugin of pytest."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

Listing = dict[str, dict[str, list[str]]]
"""Reference -> row -> names of tests."""


def listing_of(items: Iterable[pytest.Item]) -> Listing:
    listing: Listing = {}
    for item in items:
        for mark in item.iter_markers("covers"):
            name, *rows = mark.args
            for row in rows:
                listing.setdefault(name, {}).setdefault(row, []).append(item.nodeid)
    return listing


def pytest_addoption(parser: pytest.Parser) -> None:
    """Where to write to."""
    parser.addoption("--covers-listing", help="file for a JSON object: reference, row, tests")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Write the listing."""
    path = Path(session.config.getoption("--covers-listing"))
    path.write_text(json.dumps(listing_of(session.items)))
