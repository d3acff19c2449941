"""Columns of a project's tables, the ranges of its metrics, the values of its metadata."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec

from determined_master.domain.access import rules as access
from determined_master.domain.errors import NotFound
from determined_master.domain.listing.columns import (
    EXPERIMENT_COLUMNS,
    RUN_COLUMNS,
    ColumnLocation,
    ColumnType,
    Table,
)
from determined_master.store.workspaces import project_columns as rows

if TYPE_CHECKING:
    import asyncpg

    from determined_master.domain.access.rules import Caller
    from determined_master.store.db import Conn


AT_ONCE = 1000
"""Columns that are turned into others without a pause: a millisecond's worth."""


class ListedColumn(msgspec.Struct, frozen=True):
    """A column as tables offer it."""

    name: str
    place: ColumnLocation
    type: ColumnType
    title: str


class ProjectColumns:
    """The columns of projects' tables."""

    def __init__(self, db: asyncpg.Pool) -> None:
        self._db = db

    async def columns(self, caller: Caller, project_id: int, table: Table) -> list[ListedColumn]:
        """The table's own columns, then hyperparameters, metrics and, of runs, metadata.

        Raises:
            NotFound: there is no such project.
        """
        access.may(caller, "read", "project")
        async with self._db.acquire() as conn:
            await _must_exist(conn, project_id)
            found = await rows.list_columns(conn, project_id)
        own = RUN_COLUMNS if table == "run" else EXPERIMENT_COLUMNS
        place: ColumnLocation = "RUN" if table == "run" else "EXPERIMENT"
        listed = [ListedColumn(c.name, place, c.type, c.title) for c in own]
        for n, row in enumerate(found):
            if n % AT_ONCE == AT_ONCE - 1:
                await asyncio.sleep(0)  # others get their turn
            where = row.place
            if where == "RUN_METADATA" and table != "run":
                continue
            if where == "HYPERPARAMETERS" and table == "run":
                where = "RUN_HYPERPARAMETERS"
            listed.append(ListedColumn(row.name, where, row.type, ""))
        return listed

    async def metric_ranges(
        self, caller: Caller, project_id: int
    ) -> list[tuple[str, float, float]]:
        """Each numeric metric's column with its lowest and highest value.

        Raises:
            NotFound: there is no such project.
        """
        access.may(caller, "read", "project")
        async with self._db.acquire() as conn:
            await _must_exist(conn, project_id)
            return await rows.list_ranges(conn, project_id)

    async def metadata_values(self, caller: Caller, project_id: int, key: str) -> list[str]:
        """The different texts that runs have at a dotted key of their metadata.

        Raises:
            NotFound: there is no such project.
        """
        access.may(caller, "read", "project")
        async with self._db.acquire() as conn:
            await _must_exist(conn, project_id)
            return await rows.list_words(conn, project_id, f"metadata.{key}")


async def _must_exist(conn: Conn, project_id: int) -> None:
    if not await rows.has_project(conn, project_id):
        raise NotFound(f"project '{project_id}' not found")
