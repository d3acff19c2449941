"""Ends unused notebooks and TensorBoards.

Source: task-contract 7.3.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from determined_master import clock, entropy
from determined_master.domain.durations import format_duration, parse_duration
from determined_master.domain.task.kinds import TASK_KINDS
from determined_master.engine.causes import Occurrence
from determined_master.store.tasks import interactive_tasks as rows

if TYPE_CHECKING:
    from determined_master.services.tasks.interactive_tasks import InteractiveTasks
    from determined_master.services.tasks.proxies import Proxies
    from determined_master.store.db import Database

log = logging.getLogger(__name__)


class IdleTasks:
    """Knows since when tasks could be used, and ends those that were not for too long.

    Only this master's own requests count: a task counts as used when a master first sees that it
    is reachable, so that a restart ends nobody's work.
    """

    def __init__(self, db: Database, tasks: InteractiveTasks, proxies: Proxies) -> None:
        self._db = db
        self._tasks = tasks
        self._proxies = proxies
        self._reached: dict[str, datetime] = {}
        """Since when each task can be used."""

    async def end_idle(self) -> list[str]:
        """End tasks idle for longer than their configuration allows; returns their ids."""
        async with self._db.acquire() as conn:
            watched = await rows.list_watched(conn)
        now = clock.now()
        self._reached = {
            task.id: self._reached.get(task.id, now)
            for task in watched
            if self._proxies.is_registered(task.id)
        }
        ended = []
        for task in watched:
            timeout = parse_duration(task.idle_timeout)
            if task.id not in self._reached or timeout is None:
                continue
            idle = now - self._last_use(task)
            if idle <= timeout:
                continue
            await self._tasks.end(
                task.id, Occurrence("idle", entropy.new_uuid()), _reason(idle, timeout)
            )
            log.info("an idle task is ended", extra={"task_id": task.id})
            ended.append(task.id)
        return ended

    def begin_again(self) -> None:
        """Take every task for used just now: the clock was set."""
        self._reached = dict.fromkeys(self._reached, clock.now())

    def _last_use(self, task: rows.WatchedTask) -> datetime:
        reported = task.active_at if TASK_KINDS[task.kind].reports_use else None
        known = (self._reached[task.id], self._proxies.last_request_at(task.id), reported)
        return max(at for at in known if at is not None)


def _reason(idle: timedelta, timeout: timedelta) -> str:
    whole = timedelta(seconds=round(idle.total_seconds()))
    return f"idle for {format_duration(whole)}, idle_timeout is {format_duration(timeout)}"
