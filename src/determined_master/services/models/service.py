"""Use cases of models: names in the registry that versions are registered under."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import asyncpg
import msgspec

from determined_master import clock
from determined_master.domain.access import rules as access
from determined_master.domain.allowances import MODELS
from determined_master.domain.errors import (
    AlreadyExists,
    FailedPrecondition,
    InvalidArgument,
    NotFound,
)
from determined_master.domain.workspaces.naming import check_length
from determined_master.store.models import models as rows

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.records.models import ModelFilter, ModelRow
    from determined_master.store.db import Conn

DEFAULT_WORKSPACE_ID = 1
MAX_NAME_CHARACTERS = 500
RESERVED_PARTS = frozenset(["", ".", "..", "archive", "move", "unarchive", "versions"])
"""Parts of a name that lead elsewhere in a path whose slashes are not encoded.

The client of 0.38.1 encodes no slash, and libraries of HTTP remove dots.
"""


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A model as a user asks for it; the workspace by name or id, or the first one."""

    name: str
    description: str = ""
    metadata: Mapping[str, Any] = {}
    labels: Sequence[str] = ()
    notes: str = ""
    workspace_name: str | None = None
    workspace_id: int | None = None


class ModelChanges(msgspec.Struct, frozen=True, kw_only=True):
    """Changes of a user to a model; None keeps a field."""

    name: str | None = None
    description: str | None = None
    metadata: Mapping[str, Any] | None = None
    labels: Sequence[str] | None = None
    notes: str | None = None
    workspace_name: str | None = None
    workspace_id: int | None = None


class Models:
    """Models of all workspaces; names are unique in the cluster, with their case."""

    def __init__(self, db: asyncpg.Pool) -> None:
        self._db = db

    async def get(self, caller: Caller, name: str) -> ModelRow:
        """A model by its name or id.

        Raises:
            NotFound: there is none.
        """
        access.may(caller, "read", "model")
        async with self._db.acquire() as conn:
            return await get_model(conn, name)

    async def find(
        self, caller: Caller, wanted: ModelFilter, *, sort: str, descending: bool
    ) -> list[ModelRow]:
        """Models that match, in order."""
        access.may(caller, "read", "model")
        async with self._db.acquire() as conn:
            return await rows.list_models(
                conn,
                wanted,
                sort=sort,
                descending=descending,
                among=access.visible(caller, "model"),
            )

    async def labels(self, caller: Caller, workspace_id: int | None) -> list[str]:
        """Labels of models, the most used first."""
        access.may(caller, "read", "model")
        async with self._db.acquire() as conn:
            return await rows.list_labels(
                conn, workspace_id, among=access.visible(caller, "model")
            )

    async def create(self, caller: Caller, model: ModelRequest) -> ModelRow:
        """Make a model.

        Raises:
            InvalidArgument: the name cannot be used. AlreadyExists: it is taken.
            NotFound: there is no such workspace. ResourceExhausted: the caller has too many.
        """
        _check_name(model.name)
        async with self._db.acquire() as conn, conn.transaction():
            workspace_id = (
                await _workspace(conn, caller, model.workspace_name, model.workspace_id)
                or DEFAULT_WORKSPACE_ID
            )
            access.may(caller, "create", "model", workspace_id=workspace_id)
            new = rows.NewModel(
                name=model.name,
                description=model.description,
                metadata=dict(model.metadata),
                labels=list(dict.fromkeys(model.labels)),
                notes=model.notes,
                user_id=caller.user_id,
                workspace_id=workspace_id,
                created_at=clock.now(),
            )
            try:
                await rows.insert_model(conn, new)
            except asyncpg.UniqueViolationError:
                raise _taken(model.name) from None
            MODELS.check(*await rows.measure_models(conn, caller.user_id))
            return await get_model(conn, model.name)

    async def change(self, caller: Caller, name: str, changes: ModelChanges) -> ModelRow:
        """Change a model.

        Raises:
            NotFound: no such model or workspace. FailedPrecondition: it is archived.
            InvalidArgument, AlreadyExists: of the new name.
        """
        access.may(caller, "edit", "model")
        if changes.name is not None:
            _check_name(changes.name)
        async with self._db.acquire() as conn, conn.transaction():
            model = await get_open_model(conn, name)
            plain = msgspec.structs.asdict(changes)
            workspace = await _workspace(
                conn, caller, plain.pop("workspace_name"), plain.pop("workspace_id")
            )
            if workspace is not None:
                access.may(caller, "create", "model", workspace_id=workspace)
            written = {key: value for key, value in plain.items() if value is not None}
            if workspace is not None:
                written["workspace_id"] = workspace
            if "labels" in written:
                written["labels"] = list(dict.fromkeys(written["labels"]))
            try:
                await rows.update_model(conn, model.id, written, clock.now())
            except asyncpg.UniqueViolationError:
                raise _taken(changes.name or "") from None
            MODELS.check(*await rows.measure_models(conn, model.user_id))
            return await get_model(conn, str(model.id))

    async def archive(self, caller: Caller, name: str, *, archived: bool) -> None:
        """Close a model to changes, or open it again; doing so twice changes nothing."""
        access.may(caller, "edit", "model")
        async with self._db.acquire() as conn:
            model = await get_model(conn, name)
            if model.archived is not archived:
                await rows.update_model(conn, model.id, {"archived": archived}, clock.now())

    async def delete(self, caller: Caller, name: str) -> None:
        """Forget a model with its versions; their checkpoints stay.

        Raises:
            NotFound: there is none. PermissionDenied: it belongs to another user.
        """
        async with self._db.acquire() as conn:
            model = await get_model(conn, name)
            access.may(
                caller,
                "delete",
                "model",
                owner_id=model.user_id,
                workspace_id=model.workspace_id,
                refusal=f"only admins may delete the model {model.name!r} of {model.username}",
            )
            await rows.delete_model(conn, model.id)


async def get_model(conn: Conn, name: str, *, is_locked: bool = False) -> ModelRow:
    """A model by its name or id. Raises NotFound."""
    row = await rows.find_model(conn, name, is_locked=is_locked)
    if row is None:
        raise NotFound(f'model "{name}" not found')
    return row


async def get_open_model(conn: Conn, name: str) -> ModelRow:
    """A model that may be changed, locked. Raises NotFound, FailedPrecondition."""
    model = await get_model(conn, name, is_locked=True)
    if model.archived:
        raise FailedPrecondition(
            f'model "{model.name}" is archived and cannot be changed: unarchive it first'
        )
    return model


def _check_name(name: str) -> None:
    check_length("a model's name", name)
    if not name.strip():
        raise InvalidArgument("model names cannot be blank: give it some text")
    if name.strip().isdecimal():
        raise InvalidArgument("model names cannot be only numbers")
    if "\\" in name:
        raise InvalidArgument(f"model names cannot have backslashes: {name!r}")
    if "/" in name and not RESERVED_PARTS.isdisjoint(name.split("/")):
        raise InvalidArgument(
            f"model names cannot have a part between slashes that is empty or one of"
            f" {', '.join(sorted(filter(None, RESERVED_PARTS)))}: {name!r}"
        )
    if len(name) > MAX_NAME_CHARACTERS:
        raise InvalidArgument(
            f"model names have at most {MAX_NAME_CHARACTERS} characters, got {len(name)}"
        )


async def _workspace(
    conn: Conn, caller: Caller, name: str | None, workspace_id: int | None
) -> int | None:
    """The id of the workspace that is meant; None when none is named."""
    if name is None and workspace_id is None:
        return None
    found = await rows.find_workspace_id(conn, name, workspace_id)
    missing = f"workspace '{workspace_id if name is None else name}' not found"
    if found is None:
        raise NotFound(missing)
    access.may_see(caller, "workspace", found, missing)
    return found


def _taken(name: str) -> AlreadyExists:
    return AlreadyExists(
        f"avoid names equal to other models (case-sensitive): there is a model {name!r} already"
    )
