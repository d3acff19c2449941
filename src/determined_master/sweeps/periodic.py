"""Periodic sweeps of the leader, and the loop that restarts a failed one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial

from determined_master import clock
from determined_master.domain.errors import DetError
from determined_master.services.checkpoints.gc_waits import GcWaitNotices
from determined_master.services.experiments.detached import SILENT_AFTER, Detached
from determined_master.services.tasks.idle_tasks import IdleTasks
from determined_master.services.workspaces.namespaces import WorkspaceNamespaces
from determined_master.store.connection_errors import DATABASE_ERRORS

log = logging.getLogger(__name__)

RESTART_AFTER_S = 5.0
GC_WAITS_PERIOD_S = 15.0
IDLE_PERIOD_S = 5.0
NAMESPACES_PERIOD_S = 30.0
SILENT_PERIOD_S = 30.0


async def keep_running(
    loop: Callable[[], Awaitable[None]], pause_s: float = RESTART_AFTER_S
) -> None:
    """Run a loop until cancelled; restart it `pause_s` seconds after a failure.

    For loops whose state is in the database, so that a restart loses nothing. Each loop waits for
    an unavailable database itself; only unexpected errors, and leadership lost in the middle of a
    round, arrive here.
    """
    function = loop.func if isinstance(loop, partial) else loop
    name = getattr(function, "__qualname__", repr(function))
    while True:
        try:
            await loop()
        except Exception:
            log.exception("a loop failed and restarts", extra={"loop": name})
        await asyncio.sleep(pause_s)


async def report_gc_waits(waits: GcWaitNotices) -> None:
    """Log why checkpoint GC tasks wait, four times a minute."""
    while True:
        await asyncio.sleep(GC_WAITS_PERIOD_S)
        try:
            await waits.notify(clock.now())
        except DATABASE_ERRORS:
            log.exception("failed to look for waiting checkpoint GC tasks; retrying")


async def end_idle_tasks(tasks: IdleTasks, *, period_s: float = IDLE_PERIOD_S) -> None:
    """End unused notebooks and TensorBoards. A jump of the clock ends nothing."""
    jumps = clock.Jumps()
    while True:
        await asyncio.sleep(period_s)
        if jumps.take():
            tasks.begin_again()
        try:
            await tasks.end_idle()
        except (*DATABASE_ERRORS, DetError):
            log.exception("failed to look for idle tasks; retrying")


async def delete_unused_namespaces(namespaces: WorkspaceNamespaces) -> None:
    """Delete the namespaces that were made for workspaces which are deleted."""
    while namespaces.managers:
        try:
            await namespaces.sweep()
        except DATABASE_ERRORS:
            log.exception("failed to look for namespaces of deleted workspaces; retrying")
        await asyncio.sleep(NAMESPACES_PERIOD_S)


async def end_silent_trials(
    detached: Detached,
    *,
    silent_s: float = SILENT_AFTER.total_seconds(),
    period_s: float = SILENT_PERIOD_S,
) -> None:
    """Fail detached trials that stopped reporting.

    Only time in which a trial could reach the master counts: the first look comes once the master
    has run for `silent_s`, and a jump of the clock starts that wait again.
    """
    jumps = clock.Jumps()
    await asyncio.sleep(silent_s)
    while True:
        if jumps.take():
            await asyncio.sleep(silent_s)
            continue
        try:
            await detached.end_silent(clock.now())
        except DATABASE_ERRORS:
            log.exception("failed to look for silent trials; retrying")
        await asyncio.sleep(period_s)
