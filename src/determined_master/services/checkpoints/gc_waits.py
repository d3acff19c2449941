"""Saying why tasks that delete checkpoints do not start."""

from __future__ import annotations

import contextlib
import hashlib
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from determined_master.aggregates.experiments import EXPERIMENT
from determined_master.domain.errors import NotFound
from determined_master.domain.experiment import messages as exp
from determined_master.domain.ids import ExperimentId
from determined_master.engine.causes import Occurrence
from determined_master.store.checkpoints import gc as rows

if TYPE_CHECKING:
    import asyncpg

    from determined_master.engine import Engine
    from determined_master.ports.agents import ClusterBackend

PATIENCE = timedelta(seconds=30)
"""A task that waits for less is only next in line."""
AT_ONCE = 200


class GcWaitNotices:
    """Looks for waiting GC tasks, and reports the reason to their experiments."""

    def __init__(self, engine: Engine, db: asyncpg.Pool, backend: ClusterBackend) -> None:
        self._engine = engine
        self._db = db
        self._backend = backend

    async def notify(self, now: datetime) -> int:
        """Notify each experiment once per reason; returns how many GC tasks wait."""
        async with self._db.acquire() as conn:
            waiting = await rows.list_waiting(conn, since=now - PATIENCE, limit=AT_ONCE)
        for one in waiting:
            reason = self._reason(one)
            event = exp.GcWaits(task_id=one.task_id, reason=reason)
            digest = hashlib.sha256(reason.encode()).hexdigest()[:16]
            cause = Occurrence("waits", f"{one.task_id}:{digest}")
            with contextlib.suppress(NotFound):  # deleted in the meantime
                await self._engine.post(
                    EXPERIMENT, ExperimentId(one.experiment_id), event, cause=cause
                )
        return len(waiting)

    def _reason(self, waiting: rows.WaitingGcTask) -> str:
        since = f"{waiting.requested_at:%Y-%m-%d %H:%M:%S} UTC"
        task = f"task {waiting.task_id} waits since {since}"
        if not any(a.is_connected and a.is_in(waiting.pool) for a in self._backend.agents()):
            return (
                f"{task}, and no agent of pool '{waiting.pool}' is connected: start one, or name "
                "a pool with agents as resource_manager.default_aux_resource_pool"
            )
        return f"{task} for a place in pool '{waiting.pool}'"
