"""Use cases of templates: partial configurations that experiments and tasks name."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import asyncpg

from determined_master.domain.access import rules as access
from determined_master.domain.config.template import check_template
from determined_master.domain.errors import AlreadyExists, InvalidArgument, NotFound
from determined_master.domain.workspaces.naming import check_length
from determined_master.records.configs import TemplateRow
from determined_master.store.configs import templates as rows

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.store.db import Conn

DEFAULT_WORKSPACE_ID = 1


class Templates:
    """Templates of all workspaces; names are unique in the cluster."""

    def __init__(self, db: asyncpg.Pool) -> None:
        self._db = db

    async def get(self, caller: Caller, name: str) -> TemplateRow:
        """One template. Raises NotFound."""
        access.may(caller, "read", "template")
        async with self._db.acquire() as conn:
            row = await rows.find_template(conn, name)
        if row is None:
            raise _missing(name)
        return row

    async def find(
        self, caller: Caller, name: str, workspace_ids: Sequence[int], *, descending: bool
    ) -> list[TemplateRow]:
        """Templates whose name contains a text, by name."""
        access.may(caller, "read", "template")
        async with self._db.acquire() as conn:
            return await rows.list_templates(
                conn,
                name,
                workspace_ids,
                newest_name_first=descending,
                among=access.visible(caller, "template"),
            )

    async def create(
        self, caller: Caller, name: str, workspace_id: int, config: Mapping[str, Any]
    ) -> TemplateRow:
        """Store a new template.

        Raises:
            AlreadyExists: the name is taken. NotFound: no such workspace.
            InvalidArgument: the name is blank, or the configuration has errors.
        """
        new = await _checked(name, workspace_id, config)
        async with self._db.acquire() as conn:
            await _check_workspace(conn, caller, new.workspace_id)
            if not await rows.insert_template(conn, new):
                raise _taken(name)
        return new

    async def put(
        self, caller: Caller, name: str, workspace_id: int, config: Mapping[str, Any]
    ) -> TemplateRow:
        """Store a template, or replace the configuration of the one that has the name."""
        access.may(caller, "edit", "template")
        new = await _checked(name, workspace_id, config)
        async with self._db.acquire() as conn:
            if await rows.find_template(conn, name) is None:
                await _check_workspace(conn, caller, new.workspace_id)
            return await rows.upsert_template(conn, new)

    async def replace(self, caller: Caller, name: str, config: Mapping[str, Any]) -> TemplateRow:
        """Replace a template's configuration as a whole. Raises NotFound, InvalidArgument."""
        access.may(caller, "edit", "template")
        await asyncio.to_thread(check_template, config)
        async with self._db.acquire() as conn:
            row = await rows.update_template(conn, name, dict(config))
        if row is None:
            raise _missing(name)
        return row

    async def rename(self, caller: Caller, old: str, new: str) -> TemplateRow:
        """Give a template another name. Raises NotFound, AlreadyExists, InvalidArgument."""
        access.may(caller, "edit", "template")
        _check_name(new)
        async with self._db.acquire() as conn:
            try:
                row = await rows.rename_template(conn, old, new)
            except asyncpg.UniqueViolationError:
                raise _taken(new) from None
        if row is None:
            raise _missing(old)
        return row

    async def delete(self, caller: Caller, name: str) -> None:
        """Delete a template; configurations made from it are kept. Raises NotFound."""
        access.may(caller, "delete", "template")
        async with self._db.acquire() as conn:
            if not await rows.delete_template(conn, name):
                raise _missing(name)


async def _checked(name: str, workspace_id: int, config: Mapping[str, Any]) -> TemplateRow:
    _check_name(name)
    await asyncio.to_thread(check_template, config)
    return TemplateRow(name, workspace_id or DEFAULT_WORKSPACE_ID, dict(config))


def _check_name(name: str) -> None:
    check_length("a template's name", name)
    if not name.strip():
        raise InvalidArgument("a template's name must not be blank: give it some text")


async def _check_workspace(conn: Conn, caller: Caller, workspace_id: int) -> None:
    """Do nothing when the caller may make a template there."""
    missing = f"workspace '{workspace_id}' not found"
    if not await rows.has_workspace(conn, workspace_id):
        raise NotFound(missing)
    access.may_see(caller, "workspace", workspace_id, missing)
    access.may(caller, "create", "template", workspace_id=workspace_id)


def _missing(name: str) -> NotFound:
    return NotFound(f"template '{name}' not found")


def _taken(name: str) -> AlreadyExists:
    return AlreadyExists(
        f"template '{name}' already exists: choose another name, or change that one"
    )
