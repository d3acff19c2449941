"""Starting points of a new search's trials: checked while its user can still fix them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from determined_master.domain.access import rules as access
from determined_master.domain.errors import InvalidArgument
from determined_master.records.access import Thing
from determined_master.store.checkpoints import checkpoints
from determined_master.store.checkpoints import gc as gc_tasks
from determined_master.store.workspaces.owners import find_workspaces

if TYPE_CHECKING:
    import asyncpg

    from determined_master.domain.access.rules import Caller
    from determined_master.domain.config.sections.searcher import SearcherConfig
    from determined_master.store.db import Conn

_PREFIX = "invalid experiment configuration: "


async def check_source(db: asyncpg.Pool, caller: Caller, searcher: SearcherConfig) -> None:
    """Refuse a search whose trials would start from a missing checkpoint.

    A trial counts before a checkpoint when both are given, as in `CreateTrial`.

    Raises:
        InvalidArgument: the source trial has no complete checkpoint, or the source checkpoint is
            unknown; a hidden one counts as missing.
    """
    trial_id, uuid = searcher.source_trial_id, searcher.source_checkpoint_uuid
    if not trial_id and not uuid:
        return
    async with db.acquire() as conn:
        if trial_id:
            has_checkpoint = await checkpoints.find_resume_point(conn, trial_id) is not None
            if not (has_checkpoint and await _is_seen(conn, caller, "trial", str(trial_id))):
                raise InvalidArgument(
                    f"{_PREFIX}searcher.source_trial_id is {trial_id}, and trial {trial_id} has "
                    "no checkpoint to start from: name a trial that has saved one"
                )
        elif uuid:
            if not await _is_seen(conn, caller, "checkpoint", uuid):
                raise _unknown(uuid)
            await _check_checkpoint(conn, uuid)


async def hold_source(conn: Conn, searcher: SearcherConfig) -> None:
    """Keep the checkpoint that a search starts from, in the transaction that stores the search.

    Raises:
        InvalidArgument: it was deleted in the meantime, or is about to be.
    """
    uuid = searcher.source_checkpoint_uuid
    if uuid and not searcher.source_trial_id:
        await gc_tasks.lock_checkpoints(conn, [uuid])
        await _check_checkpoint(conn, uuid)


async def _check_checkpoint(conn: Conn, uuid: str) -> None:
    at = f"{_PREFIX}searcher.source_checkpoint_uuid"
    found = await checkpoints.find_checkpoint(conn, uuid)
    if found is None:
        raise _unknown(uuid)
    if not await gc_tasks.is_to_stay(conn, uuid):
        state = f"is {found.state}" if found.state != "COMPLETED" else "is being deleted"
        raise InvalidArgument(f"{at}: checkpoint '{uuid}' {state}: name one that is complete")


async def _is_seen(conn: Conn, caller: Caller, thing: Thing, name: str) -> bool:
    """Whether the caller may read its files; a missing one is reported by a later check."""
    if access.visible(caller, "checkpoint") is None:
        return True
    found = await find_workspaces(conn, thing, [name])
    return access.can(caller, "read", "checkpoint", workspace_id=found.get(name, access.NOWHERE))


def _unknown(uuid: str) -> InvalidArgument:
    return InvalidArgument(
        f"{_PREFIX}searcher.source_checkpoint_uuid: checkpoint '{uuid}' not found; "
        "`det experiment list-checkpoints` shows those of an experiment"
    )
