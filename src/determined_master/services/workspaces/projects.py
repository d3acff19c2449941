"""Use cases of projects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import asyncpg
import msgspec

from determined_master import entropy
from determined_master.domain.access import rules as access
from determined_master.domain.allowances import NOTES
from determined_master.domain.errors import (
    AlreadyExists,
    FailedPrecondition,
    InvalidArgument,
    NotFound,
)
from determined_master.domain.states import LEAVING
from determined_master.domain.workspaces.naming import (
    KEY_LETTERS,
    MAX_KEY,
    check_key,
    check_project_name,
    generated_key,
)
from determined_master.records.workspaces import ProjectRow
from determined_master.services.access.guard import controlled
from determined_master.services.workspaces.checks import check_open, check_place
from determined_master.store.experiments import experiments
from determined_master.store.row_locks import lock_experiment_with_runs
from determined_master.store.workspaces import projects as rows
from determined_master.store.workspaces import workspaces

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.services.workspaces.deletions import ProjectDeletions
    from determined_master.services.workspaces.moves import Moves
    from determined_master.store.db import Conn

KEY_ATTEMPTS = 20
KEY_CONSTRAINT = "projects_key_key"
Changes = Mapping[str, Any]
"""Of `name`, `description` and `key`; missing ones stay unchanged."""


class ProjectRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request to create a project."""

    workspace_id: int
    name: str
    description: str = ""
    key: str | None = None


class Projects:
    """Projects of all workspaces."""

    def __init__(self, db: asyncpg.Pool, deletions: ProjectDeletions, moves: Moves) -> None:
        self._db = db
        self._deletions = deletions
        self._moves = moves

    async def of_workspace(self, caller: Caller, workspace_id: int) -> list[ProjectRow]:
        """The projects of one workspace by id.

        Raises:
            NotFound: there is no such workspace.
        """
        access.may(caller, "read", "project")
        async with self._db.acquire() as conn:
            if await workspaces.find_workspace(conn, workspace_id, caller.user_id) is None:
                raise NotFound(f"workspace '{workspace_id}' not found")
            return await rows.list_projects(conn, workspace_id=workspace_id)

    async def get(self, caller: Caller, project_id: int) -> ProjectRow:
        """One project.

        Raises:
            NotFound: no project has that id.
        """
        access.may(caller, "read", "project")
        async with self._db.acquire() as conn:
            return await _must_find(conn, project_id)

    async def get_by_key(self, caller: Caller, key: str) -> ProjectRow:
        """The project of a key, in whatever case.

        Raises:
            NotFound: no project has that key.
        """
        access.may(caller, "read", "project")
        async with self._db.acquire() as conn:
            found = await rows.list_projects(conn, key=key.upper())
        if not found:
            raise NotFound(f"project '{key}' not found")
        return found[0]

    async def create(self, caller: Caller, new: ProjectRequest) -> ProjectRow:
        """Make a project.

        Raises:
            NotFound: no such workspace.
            FailedPrecondition: the workspace is archived, immutable or being deleted.
            AlreadyExists: name or key is taken. InvalidArgument: name or key is bad.
        """
        access.may(caller, "create", "project")
        name = check_project_name(new.name)
        given = check_key(new.key) if new.key else ""
        async with self._db.acquire() as conn, conn.transaction():
            workspace = await workspaces.lock_workspace(conn, new.workspace_id, caller.user_id)
            if workspace is None:
                raise NotFound(f"workspace '{new.workspace_id}' not found")
            check_open(f"workspace '{workspace.name}'", workspace.archived, workspace.state)
            if workspace.immutable:
                raise FailedPrecondition(
                    f"cannot create a project in workspace '{workspace.name}': it is immutable"
                )
            for key in [given] if given else _made_up_keys(name):
                made = rows.NewProject(
                    workspace_id=new.workspace_id,
                    name=name,
                    description=new.description,
                    key=key,
                    user_id=caller.user_id,
                )
                try:
                    async with conn.transaction():
                        return await _must_find(conn, await rows.insert_project(conn, made))
                except asyncpg.UniqueViolationError as error:
                    if given or error.constraint_name != KEY_CONSTRAINT:
                        raise _taken(error, name, key) from None
        raise AlreadyExists(f"no key is free for project '{name}': give it one")

    async def change(self, caller: Caller, project_id: int, changes: Changes) -> ProjectRow:
        """Change name, description or key; none when one cannot be.

        Raises:
            NotFound, AlreadyExists, InvalidArgument: as above.
            FailedPrecondition: it is immutable, archived or being deleted.
            PermissionDenied: it and its workspace belong to other users.
        """
        values = dict(changes)
        if "name" in values:
            check_project_name(values["name"])
        if "key" in values:
            values["key"] = check_key(values["key"])
        async with self._db.acquire() as conn, conn.transaction():
            row = await _lock(conn, project_id, caller)
            _check_changeable(row)
            try:
                await rows.update_project(conn, project_id, values)
            except asyncpg.UniqueViolationError as error:
                name, key = values.get("name", row.name), values.get("key", row.key)
                raise _taken(error, name, key) from None
            return await _must_find(conn, project_id)

    async def set_notes(
        self, caller: Caller, project_id: int, notes: Sequence[Mapping[str, Any]]
    ) -> list[dict[str, Any]]:
        """Replace the notes of a project; returns the new ones."""
        async with self._db.acquire() as conn, conn.transaction():
            row = await _lock(conn, project_id, caller, action="control")
            check_open(f"project '{row.name}'", row.archived, row.state)
            values = [dict(note) for note in notes]
            _check_notes(values)
            await rows.update_project(conn, project_id, {"notes": values})
        return values

    async def add_note(
        self, caller: Caller, project_id: int, note: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        """Add a note; two at once are both kept. Raises InvalidArgument for an empty one."""
        if not note.get("name") and not note.get("contents"):
            raise InvalidArgument("the note is empty: give it a name or contents")
        async with self._db.acquire() as conn, conn.transaction():
            row = await _lock(conn, project_id, caller, action="control")
            check_open(f"project '{row.name}'", row.archived, row.state)
            values = [*row.notes, dict(note)]
            _check_notes(values)
            await rows.update_project(conn, project_id, {"notes": values})
        return values

    async def archive(self, caller: Caller, project_id: int, *, archived: bool) -> None:
        """Hide a project with all in it from lists, or show it; again changes nothing."""
        word = "archive" if archived else "unarchive"
        async with self._db.acquire() as conn, conn.transaction():
            row = await _lock(conn, project_id, caller)
            if row.immutable:
                raise FailedPrecondition(
                    f"project ({project_id}) is immutable and cannot be {word}d"
                )
            if row.is_workspace_archived:
                raise FailedPrecondition(
                    f"project ({project_id}) cannot be {word}d: its workspace "
                    f"'{row.workspace_name}' is archived; unarchive that first"
                )
            await rows.update_project(conn, project_id, {"archived": archived})

    async def move(self, caller: Caller, project_id: int, workspace_id: int) -> None:
        """Move a project with its experiments to another workspace.

        Raises:
            NotFound: no such project or workspace.
            FailedPrecondition: one of them is immutable, archived or being deleted; or something
                in it is not over and does not fit the workspace.
            AlreadyExists: the workspace has a project of that name.
        """
        async with self._db.acquire() as conn, conn.transaction():
            target = await workspaces.lock_workspace(conn, workspace_id, caller.user_id)
            row = await _lock(conn, project_id, caller)
            if target is None:
                raise NotFound(f"workspace '{workspace_id}' not found")
            if caller.rights is not None:  # without roles everybody may put projects anywhere
                access.may(caller, "create", "project", workspace_id=workspace_id)
            _check_changeable(row)
            check_open(f"workspace '{target.name}'", target.archived, target.state)
            if target.immutable:
                raise FailedPrecondition(
                    f"cannot move a project to workspace '{target.name}': it is immutable"
                )
            await self._moves.check_project(conn, project_id, workspace_id)
            try:
                await rows.update_project(conn, project_id, {"workspace_id": workspace_id})
            except asyncpg.UniqueViolationError as error:
                raise _taken(error, row.name, row.key) from None

    async def move_experiment(self, caller: Caller, experiment_id: int, project_id: int) -> None:
        """Put an experiment, with its runs, into another project.

        Raises:
            NotFound: no such experiment or project.
            FailedPrecondition: a project is archived, or something is being deleted; or the
                experiment is not over and does not fit the project's workspace.
        """
        async with self._db.acquire() as conn, conn.transaction():
            place = await rows.find_place(conn, project_id)
            await lock_experiment_with_runs(conn, experiment_id)
            found = await experiments.lock_experiment(conn, experiment_id)
            row = controlled(caller, found, experiment_id)
            if place is None:
                raise NotFound(f"project '{project_id}' not found")
            if row.parent_archived:
                raise FailedPrecondition(
                    f"experiment {experiment_id} cannot be moved: its project "
                    f"'{row.project_name}' is archived; unarchive it first"
                )
            if row.state in LEAVING:
                raise FailedPrecondition(
                    f"experiment {experiment_id} is being deleted ({row.state})"
                )
            check_place(place)
            await self._moves.check_experiment(conn, row, place.workspace_id)
            if place.project_id != row.project_id:
                await rows.move_experiment(conn, experiment_id, place)

    async def delete(self, caller: Caller, project_id: int) -> bool:
        """Delete a project with all its experiments.

        Returns:
            Whether it is deleted already; otherwise the deletion continues after the response.

        Raises:
            FailedPrecondition: it is immutable, or an experiment of it has not ended.
            PermissionDenied: it, or an experiment of it, belongs to another user.
        """
        async with self._db.acquire() as conn, conn.transaction():
            row = await _lock(conn, project_id, caller, action="delete")
            if row.immutable:
                raise FailedPrecondition(
                    f"project ({project_id}) is immutable and cannot be deleted"
                )
        return await self._deletions.delete_project(caller, project_id)


def _check_changeable(row: ProjectRow) -> None:
    fixed = "and cannot have attributes updated"
    if row.immutable:
        raise FailedPrecondition(f"project ({row.id}) is immutable {fixed}: make another one")
    if row.archived:
        raise FailedPrecondition(f"project ({row.id}) is archived {fixed}: unarchive it first")
    check_open(f"project '{row.name}'", row.archived, row.state)


def _made_up_keys(name: str) -> list[str]:
    drawn = (
        "".join(KEY_LETTERS[entropy.choice_index(len(KEY_LETTERS))] for _ in range(MAX_KEY))
        for _ in range(KEY_ATTEMPTS)
    )
    return [generated_key(name, letters) for letters in drawn]


async def _lock(
    conn: Conn, project_id: int, caller: Caller, *, action: access.Action = "edit"
) -> ProjectRow:
    row = await rows.lock_project(conn, project_id)
    if row is None:
        raise NotFound(f"project '{project_id}' not found")
    # The owner of the workspace may do what the owner of the project may.
    is_own = caller.user_id in (row.user_id, row.workspace_user_id)
    owner_id = caller.user_id if is_own else row.user_id
    refusal = "only admins may change or delete other user's projects"
    access.may(
        caller,
        action,
        "project",
        owner_id=owner_id,
        workspace_id=row.workspace_id,
        refusal=refusal,
    )
    return row


async def _must_find(conn: Conn, project_id: int) -> ProjectRow:
    found = await rows.list_projects(conn, project_id=project_id)
    if not found:
        raise NotFound(f"project '{project_id}' not found")
    return found[0]


def _taken(error: asyncpg.UniqueViolationError, name: str, key: str) -> AlreadyExists:
    if error.constraint_name == KEY_CONSTRAINT:
        return AlreadyExists(f"project key '{key}' is taken: choose another key")
    return AlreadyExists(f"project '{name}' already exists in its workspace: choose another name")


def _check_notes(notes: Sequence[Mapping[str, Any]]) -> None:
    NOTES.check(len(notes), len(msgspec.json.encode(notes)))
