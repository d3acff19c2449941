"""Columns and rows of aggregates that are read outside of the engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from determined_master.store.db import Database

PARTS = """ARRAY(SELECT p.part FROM aggregate_parts p
                   WHERE p.kind = a.kind AND p.id = a.id ORDER BY p.n) AS parts"""
"""A column of a query of `aggregates a`: the stored parts beside the state, for `Codec.state`."""


async def list_open_allocations(db: Database) -> Sequence[Any]:
    """State, version and parts of each allocation that has not ended."""
    query = f"""
        SELECT a.state, a.version, {PARTS} FROM aggregates a JOIN allocations o ON o.id = a.id
         WHERE a.kind = 'allocation' AND o.ended_at IS NULL
    """
    rows: Sequence[Any] = await db.fetch(query)
    return rows
