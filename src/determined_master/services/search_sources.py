"""What trials of a new search start from: checked while its user can still mend it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from determined_master.domain.errors import InvalidArgument
from determined_master.store import checkpoints

if TYPE_CHECKING:
    import asyncpg

    from determined_master.domain.config.searcher import SearcherConfig

_PREFIX = "invalid experiment configuration: "


async def check_source(pool: asyncpg.Pool, searcher: SearcherConfig) -> None:
    """Refuse a search whose trials would start from what is not there.

    A trial counts before a checkpoint when both are given, as in `CreateTrial`.

    Raises:
        InvalidArgument: the source trial has no complete checkpoint, or the source checkpoint is
            unknown.
    """
    trial_id, uuid = searcher.source_trial_id, searcher.source_checkpoint_uuid
    if not trial_id and not uuid:
        return
    async with pool.acquire() as conn:
        if trial_id:
            if await checkpoints.find_resume_point(conn, trial_id) is None:
                raise InvalidArgument(
                    f"{_PREFIX}searcher.source_trial_id is {trial_id}, and trial {trial_id} has "
                    "no checkpoint to start from: name a trial that has saved one"
                )
        elif uuid and await checkpoints.find_checkpoint(conn, uuid) is None:
            raise InvalidArgument(
                f"{_PREFIX}searcher.source_checkpoint_uuid: checkpoint '{uuid}' not found; "
                "`det checkpoint list` shows those of an experiment"
            )
