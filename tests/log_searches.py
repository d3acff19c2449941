"""Searches in logs for tests that build their own services."""

from __future__ import annotations

from determined_master.services.logs.searches import LogSearches
from determined_master.store.db import Database


def searches_in(pool: Database) -> LogSearches:
    """Searches on connections that the test has opened, and ends."""

    async def opened() -> Database:
        return pool

    return LogSearches(opened)
