"""Use cases of versions of models: registering checkpoints, which are then kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from determined_master import clock
from determined_master.domain.access import rules as access
from determined_master.domain.errors import FailedPrecondition, NotFound
from determined_master.domain.ids import checked_uuid
from determined_master.services.models.service import get_model, get_open_model
from determined_master.store.checkpoints import checkpoints
from determined_master.store.models import models
from determined_master.store.models import versions as rows

if TYPE_CHECKING:
    import asyncpg

    from determined_master.domain.access.rules import Caller
    from determined_master.records.checkpoints import CheckpointRow
    from determined_master.records.models import ModelRow, Registration
    from determined_master.store.db import Conn
    from determined_master.store.models.versions import VersionRow


class VersionRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The description of a checkpoint that becomes a version."""

    checkpoint_uuid: str
    name: str = ""
    comment: str = ""
    metadata: Mapping[str, Any] = {}
    labels: Sequence[str] = ()
    notes: str = ""


class VersionChanges(msgspec.Struct, frozen=True, kw_only=True):
    """Changes of a user to a version; None keeps a field."""

    name: str | None = None
    comment: str | None = None
    metadata: Mapping[str, Any] | None = None
    labels: Sequence[str] | None = None
    notes: str | None = None


class Version(msgspec.Struct, frozen=True):
    """A version with its model and its checkpoint."""

    row: VersionRow
    model: ModelRow
    checkpoint: CheckpointRow


class ModelVersions:
    """Versions of all models, numbered from 1 in each."""

    def __init__(self, db: asyncpg.Pool) -> None:
        self._db = db

    async def get(self, caller: Caller, model_name: str, version: int) -> Version:
        """One version.

        Raises:
            NotFound: no such model, or it has no such version.
        """
        access.may(caller, "read", "model")
        async with self._db.acquire() as conn:
            return await _get(conn, await get_model(conn, model_name), version)

    async def list_of(
        self, caller: Caller, model_name: str, *, sort: str, descending: bool
    ) -> tuple[ModelRow, list[Version]]:
        """A model and its versions, in order."""
        access.may(caller, "read", "model")
        async with self._db.acquire() as conn:
            model = await get_model(conn, model_name)
            found = await rows.list_versions(conn, model.id, sort=sort, descending=descending)
            kept = await checkpoints.list_by_uuids(conn, [row.checkpoint for row in found])
        return model, [Version(row, model, kept[row.checkpoint]) for row in found]

    async def list_of_checkpoint(self, caller: Caller, uuid: str) -> list[Registration]:
        """The versions that a checkpoint is, of the models that the caller sees.

        Raises:
            NotFound: there is no such checkpoint. InvalidArgument: the UUID is none.
        """
        access.may(caller, "read", "experiment")
        async with self._db.acquire() as conn:
            if await checkpoints.find_checkpoint(conn, checked_uuid(uuid)) is None:
                raise NotFound(f"checkpoint '{uuid}' not found")
            return await rows.list_of_checkpoint(conn, uuid, among=access.visible(caller, "model"))

    async def register(
        self, caller: Caller, model_name: str, registration: VersionRequest
    ) -> Version:
        """Make a checkpoint the model's next version; from then on it is not deleted.

        Raises:
            NotFound: no such model or checkpoint. InvalidArgument: the UUID is none.
            FailedPrecondition: the model is archived, or the checkpoint is not complete.
        """
        access.may(caller, "edit", "model")
        uuid = checked_uuid(registration.checkpoint_uuid)
        async with self._db.acquire() as conn, conn.transaction():
            model = await get_open_model(conn, model_name)
            await _lock_complete(conn, uuid)
            now = clock.now()
            new = rows.NewVersion(
                model_id=model.id,
                checkpoint=uuid,
                name=registration.name,
                comment=registration.comment,
                metadata=dict(registration.metadata),
                labels=list(dict.fromkeys(registration.labels)),
                notes=registration.notes,
                user_id=caller.user_id,
                created_at=now,
            )
            version = await rows.insert_version(conn, new)
            await models.update_model(conn, model.id, {}, now)
            return await _get(conn, await get_model(conn, str(model.id)), version)

    async def change(
        self, caller: Caller, model_name: str, version: int, changes: VersionChanges
    ) -> Version:
        """Change the description of a version.

        Raises:
            NotFound: no such model or version. FailedPrecondition: the model is archived.
        """
        access.may(caller, "edit", "model")
        async with self._db.acquire() as conn, conn.transaction():
            model = await get_open_model(conn, model_name)
            row = (await _get(conn, model, version)).row
            plain = msgspec.structs.asdict(changes)
            written = {key: value for key, value in plain.items() if value is not None}
            if "labels" in written:
                written["labels"] = list(dict.fromkeys(written["labels"]))
            await rows.update_version(conn, row.id, written, clock.now())
            return await _get(conn, model, version)

    async def delete(self, caller: Caller, model_name: str, version: int) -> None:
        """Forget a version; its checkpoint stays, and may be deleted again.

        Raises:
            NotFound: no such model or version. PermissionDenied: it belongs to another user.
        """
        async with self._db.acquire() as conn, conn.transaction():
            model = await get_open_model(conn, model_name)
            row = (await _get(conn, model, version)).row
            is_mine = caller.user_id in (row.user_id, model.user_id)
            owner_id = caller.user_id if is_mine else model.user_id
            access.may(
                caller,
                "delete",
                "model",
                owner_id=owner_id,
                workspace_id=model.workspace_id,
            )
            await rows.delete_version(conn, row.id)


async def _get(conn: Conn, model: ModelRow, version: int) -> Version:
    row = await rows.find_version(conn, model.id, version)
    if row is None:
        raise NotFound(f'version {version} for model "{model.name}" not found')
    kept = await checkpoints.list_by_uuids(conn, [row.checkpoint])
    return Version(row, model, kept[row.checkpoint])


async def _lock_complete(conn: Conn, uuid: str) -> None:
    found = await rows.lock_checkpoint(conn, uuid)
    if found is None:
        raise NotFound(f"checkpoint '{uuid}' not found")
    state, is_doomed = found
    if state != "COMPLETED":
        raise FailedPrecondition(
            f"checkpoint {uuid} is in state {state}: only a COMPLETED one can be registered"
        )
    if is_doomed:
        raise FailedPrecondition(
            f"checkpoint {uuid} is being deleted and can no longer be registered"
        )
