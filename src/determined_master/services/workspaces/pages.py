"""Use cases of the web UI's views and boards: pages of a project that its users make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from determined_master import clock
from determined_master.domain.access import rules as access
from determined_master.domain.allowances import PAGES
from determined_master.domain.errors import (
    Aborted,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    ResourceExhausted,
)
from determined_master.records.pages import SCOPES, NewPage, PageChanges, PageKind, PageRow, Scope
from determined_master.store.workspaces import pages as rows

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.store.db import Conn, Database

MAX_NAME = 200
MAX_PAGES = 200
"""Of one kind, of one user in one project."""
MAX_LISTED = 2000
"""Boards of all projects in one list."""
KIB = 1024
MAX_BODY_BYTES = {"view": 64 * KIB, "board": 256 * KIB}
MAX_TEXT_BYTES = 256 * KIB
BODY_FIELD = {"view": "state", "board": "panels"}
PAGE_SCOPES: dict[PageKind, Sequence[Scope]] = {"view": SCOPES, "board": SCOPES[:2]}


class ProjectPages:
    """Views and boards of all projects."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def list_pages(self, caller: Caller, kind: PageKind, project_id: int) -> list[PageRow]:
        """The pages that the caller is shown in a project, by name; boards without contents.

        Raises:
            NotFound: there is no such project.
        """
        access.may(caller, "read", "project")
        async with self._db.acquire() as conn:
            if await rows.find_place(conn, project_id) is None:
                raise NotFound(f"project '{project_id}' not found")
            with_body = kind == "view"
            return await rows.list_pages(
                conn, kind, project_id, caller.user_id, with_body=with_body
            )

    async def list_boards(self, caller: Caller) -> list[PageRow]:
        """The boards that the caller is shown, of all projects, without contents, by name."""
        access.may(caller, "read", "project")
        workspaces = access.visible(caller, "project")
        async with self._db.acquire() as conn:
            return await rows.list_boards(conn, caller.user_id, workspaces, MAX_LISTED)

    async def get(self, caller: Caller, kind: PageKind, page_id: int) -> PageRow:
        """One page. Raises NotFound."""
        access.may(caller, "read", "project")
        async with self._db.acquire() as conn:
            return await _visible(conn, caller, kind, page_id)

    async def create(self, caller: Caller, new: NewPage) -> PageRow:
        """Store a page of the caller's.

        Raises:
            NotFound: there is no such project.
            InvalidArgument: a value is invalid. ResourceExhausted: the caller has too many.
            PermissionDenied: it is shared, and the caller may not change the project.
        """
        access.may(caller, "read", "project")
        async with self._db.acquire() as conn, conn.transaction():
            place = await rows.find_place(conn, new.project_id, is_locked=True)
            if place is None:
                raise NotFound(f"project '{new.project_id}' not found")
            now = clock.now()
            page = PageRow(
                id=0,
                kind=new.kind,
                project_id=new.project_id,
                workspace_id=place.workspace_id,
                project_name=place.project_name,
                workspace_name=place.workspace_name,
                project_owner_id=place.project_owner_id,
                workspace_owner_id=place.workspace_owner_id,
                owner_id=caller.user_id,
                owner_name=caller.username,
                scope=_scope(new.kind, new.scope),
                name=new.name,
                is_default=new.is_default,
                text=new.text,
                body=new.body,
                version=1,
                created_at=now,
                updated_at=now,
            )
            _check(page)
            _may_edit(caller, page)
            count = await rows.count_pages(conn, new.kind, new.project_id, caller.user_id)
            if count >= MAX_PAGES:
                raise ResourceExhausted(
                    f"a user may have at most {MAX_PAGES} {new.kind}s in a project: delete some"
                )
            page_id = await rows.insert_page(conn, new, caller.user_id, now)
            PAGES.check(*await rows.measure_pages(conn, caller.user_id))
            page = msgspec.structs.replace(page, id=page_id)
            if page.is_default:
                await rows.clear_defaults(conn, page)
        return page

    async def change(
        self, caller: Caller, kind: PageKind, page_id: int, version: int, changes: PageChanges
    ) -> PageRow:
        """Change a page that has this version.

        Raises:
            NotFound, InvalidArgument, PermissionDenied: as for `create`.
            Aborted: the page has another version by now.
        """
        access.may(caller, "read", "project")
        async with self._db.acquire() as conn, conn.transaction():
            await rows.lock_page(conn, page_id)
            page = await _visible(conn, caller, kind, page_id)
            _may_edit(caller, page)
            if page.version != version:
                raise Aborted(
                    f"{kind} '{page_id}' has version {page.version}, and the change was made on "
                    f"version {version}: read it again and repeat the change"
                )
            given = {
                name: value
                for name, value in msgspec.structs.asdict(changes).items()
                if value is not None
            }
            if "scope" in given:
                given["scope"] = _scope(kind, given["scope"])
            changed = msgspec.structs.replace(
                page, **given, version=version + 1, updated_at=clock.now()
            )
            _check(changed)
            _may_edit(caller, changed)
            await rows.update_page(conn, changed)
            if changes.body is not None or changes.text is not None:
                PAGES.check(*await rows.measure_pages(conn, changed.owner_id))
            if changed.is_default:
                await rows.clear_defaults(conn, changed)
        return changed

    async def delete(self, caller: Caller, kind: PageKind, page_id: int) -> None:
        """Delete a page. Raises NotFound, PermissionDenied."""
        access.may(caller, "read", "project")
        async with self._db.acquire() as conn, conn.transaction():
            await rows.lock_page(conn, page_id)
            _may_edit(caller, await _visible(conn, caller, kind, page_id))
            await rows.delete_page(conn, page_id)


def can_edit(caller: Caller, page: PageRow) -> bool:
    """Whether the caller may change a page: their private one, or one of a project they edit."""
    if page.scope == "private":
        return page.owner_id == caller.user_id
    # The owner of the workspace may do what the owner of the project may.
    is_own = caller.user_id in (page.project_owner_id, page.workspace_owner_id)
    owner_id = caller.user_id if is_own else page.project_owner_id
    return access.can(
        caller, "control", "project", owner_id=owner_id, workspace_id=page.workspace_id
    )


async def _visible(conn: Conn, caller: Caller, kind: PageKind, page_id: int) -> PageRow:
    missing = f"{kind} '{page_id}' not found"
    page = await rows.find_page(conn, kind, page_id)
    if page is None or (page.scope == "private" and page.owner_id != caller.user_id):
        raise NotFound(missing)
    access.may_see(caller, "project", page.workspace_id, missing)
    return page


def _may_edit(caller: Caller, page: PageRow) -> None:
    if can_edit(caller, page):
        return
    if page.scope == "private":
        raise PermissionDenied(f"only the owner of a {page.kind} may make it private")
    where = page.workspace_id
    refusal = access.refusal_of(caller, "control", "project", where).text
    raise PermissionDenied(f"{refusal}; a private {page.kind} needs none")


def _scope(kind: PageKind, scope: str) -> Scope:
    for known in PAGE_SCOPES[kind]:
        if scope == known:
            return known
    names = ", ".join(PAGE_SCOPES[kind])
    raise InvalidArgument(f"scope is {scope!r}: it must be one of {names}")


def _check(page: PageRow) -> None:
    if not len(page.name.strip()) >= 1 or len(page.name) > MAX_NAME:
        raise InvalidArgument(
            f"name has {len(page.name)} characters: it must have 1 to {MAX_NAME}, not only spaces"
        )
    for field, value, most in (
        (BODY_FIELD[page.kind], page.body, MAX_BODY_BYTES[page.kind]),
        ("text", page.text, MAX_TEXT_BYTES),
    ):
        size = len(value.encode())
        if size > most:
            raise InvalidArgument(f"{field} has {size} bytes: it may have at most {most}")
