"""Use cases of templates: partial configurations that experiments and tasks name."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import asyncpg
import msgspec

from determined_master.domain.access import rules as access
from determined_master.domain.allowances import TEMPLATES
from determined_master.domain.config.template import check_template
from determined_master.domain.config.template_source import TemplateSource
from determined_master.domain.errors import AlreadyExists, InvalidArgument, NotFound
from determined_master.domain.workspaces.naming import check_length
from determined_master.records.configs import TemplateRow
from determined_master.store.configs import templates as rows

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Action, Caller
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
        """Store a new template, which the caller owns.

        Raises:
            AlreadyExists: the name is taken. NotFound: no such workspace.
            InvalidArgument: the name is blank, or the configuration has errors.
            ResourceExhausted: the caller has too many.
        """
        new = await _checked(caller, name, workspace_id, config)
        async with self._db.acquire() as conn, conn.transaction():
            await _insert(conn, caller, new)
        return new

    async def put(
        self, caller: Caller, name: str, workspace_id: int, config: Mapping[str, Any]
    ) -> TemplateRow:
        """Store a template, or replace the configuration of the one that has the name.

        Raises:
            PermissionDenied: that one is another user's. Others as `create`.
        """
        new = await _checked(caller, name, workspace_id, config)
        async with self._db.acquire() as conn, conn.transaction():
            row = await rows.lock_template(conn, name)
            if row is not None:
                return await _replace(conn, caller, row, new.config)
            await _insert(conn, caller, new)
        return new

    async def replace(self, caller: Caller, name: str, config: Mapping[str, Any]) -> TemplateRow:
        """Replace a template's configuration as a whole.

        Raises:
            NotFound, InvalidArgument. PermissionDenied: it is another user's.
        """
        await asyncio.to_thread(check_template, config)
        async with self._db.acquire() as conn, conn.transaction():
            row = await _held(conn, caller, "edit", name)
            return await _replace(conn, caller, row, dict(config))

    async def rename(self, caller: Caller, old: str, new: str) -> TemplateRow:
        """Give a template another name.

        Raises:
            NotFound, AlreadyExists, InvalidArgument. PermissionDenied: it is another user's.
        """
        _check_name(new)
        async with self._db.acquire() as conn, conn.transaction():
            row = await _held(conn, caller, "edit", old)
            try:
                await rows.rename_template(conn, old, new)
            except asyncpg.UniqueViolationError:
                raise _taken(new) from None
        return msgspec.structs.replace(row, name=new)

    async def delete(self, caller: Caller, name: str) -> None:
        """Delete a template; configurations made from it are kept.

        Raises:
            NotFound. PermissionDenied: it is another user's.
        """
        async with self._db.acquire() as conn, conn.transaction():
            await _held(conn, caller, "delete", name)
            await rows.delete_template(conn, name)


def source_of(row: TemplateRow, user_id: int) -> TemplateSource | None:
    """The author of a template, for a task of that user; None for the user's own."""
    if row.changed_by == user_id:
        return None
    return TemplateSource(
        name=row.name,
        author=row.author,
        changed_at=row.changed_at.date().isoformat() if row.changed_at else "",
        is_trusted=row.is_admins,
    )


async def _held(conn: Conn, caller: Caller, action: Action, name: str) -> TemplateRow:
    """The template, locked, which the caller may change."""
    row = await rows.lock_template(conn, name)
    if row is None:
        raise _missing(name)
    _check_owner(caller, action, row)
    return row


def _check_owner(caller: Caller, action: Action, row: TemplateRow) -> None:
    """A change acts on the next run of everybody who names the template."""
    access.may(
        caller,
        action,
        "template",
        owner_id=row.owner_id,
        workspace_id=row.workspace_id,
        refusal=access.REFUSAL
        if caller.rights is not None
        else f"template '{row.name}' is another user's: store a copy under another name, or ask "
        "an admin of the cluster to change it",
    )


async def _insert(conn: Conn, caller: Caller, new: TemplateRow) -> None:
    await _check_workspace(conn, caller, new.workspace_id)
    if not await rows.insert_template(conn, new):
        raise _taken(new.name)
    TEMPLATES.check(*await rows.measure_templates(conn, caller.user_id))


async def _replace(
    conn: Conn, caller: Caller, row: TemplateRow, config: dict[str, Any]
) -> TemplateRow:
    _check_owner(caller, "edit", row)
    is_admins = access.can(caller, "configure", "cluster")
    await rows.update_template(
        conn, row.name, config, changed_by=caller.user_id, is_admins=is_admins
    )
    if row.owner_id is not None:
        TEMPLATES.check(*await rows.measure_templates(conn, row.owner_id))
    return msgspec.structs.replace(row, config=config)


async def _checked(
    caller: Caller, name: str, workspace_id: int, config: Mapping[str, Any]
) -> TemplateRow:
    _check_name(name)
    await asyncio.to_thread(check_template, config)
    return TemplateRow(
        name,
        workspace_id or DEFAULT_WORKSPACE_ID,
        dict(config),
        owner_id=caller.user_id,
        is_admins=access.can(caller, "configure", "cluster"),
    )


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
