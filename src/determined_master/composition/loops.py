"""Work that runs besides requests while a master runs."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from determined_master.composition.leader_tasks import LeaderTasks
from determined_master.services.checkpoints.gc_waits import GcWaitNotices
from determined_master.services.cluster.agent_stays import AgentStays
from determined_master.services.tasks.idle_tasks import IdleTasks
from determined_master.sweeps.maintenance import maintain_tables
from determined_master.sweeps.periodic import (
    delete_unused_namespaces,
    end_idle_tasks,
    end_silent_trials,
    keep_running,
    report_gc_waits,
)
from determined_master.sweeps.usage import aggregate_usage, record_agents

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from typing import Any

    from determined_master.composition.backends import MasterBackends
    from determined_master.composition.core_services import CoreServices
    from determined_master.composition.queue_services import QueueServices
    from determined_master.composition.services import MasterServices
    from determined_master.composition.task_services import TaskServices


class Loops:
    """The engine first; the others once it leads."""

    def __init__(
        self,
        base: CoreServices,
        backends: MasterBackends,
        queues: QueueServices,
        work: TaskServices,
        services: MasterServices,
    ) -> None:
        self._base = base
        self._backends = backends
        self._queues = queues
        self._work = work
        self._services = services

    async def run(self, ready: asyncio.Event) -> None:
        """Lead, plan and flush until cancelled; `ready` is set once agents may connect."""
        base, queues, services = self._base, self._queues, self._services
        backends, switches = self._backends.every, services.cluster.switches
        parts = base.engine, base.db, base.live, backends, switches, queues.terms
        lead = LeaderTasks(*parts, queues.machines.take_over)
        async with asyncio.TaskGroup() as group:
            group.create_task(base.engine.run())
            await base.engine.wait_until_leading(timeout_s=None)
            for vital in (self._work.flusher, services.cluster.master.loop, queues.loops):
                group.create_task(vital.run())
            for loop in (*self._sweeps(), lead.enforce_settings, lead.repeat_terms):
                group.create_task(keep_running(loop))
            ready.set()
            await lead.admit_agents()

    def _sweeps(self) -> Sequence[Callable[[], Awaitable[Any]]]:
        base, queues, work = self._base, self._queues, self._work
        runner, usage = self._backends.runner, self._services.cluster.usage
        waits = GcWaitNotices(base.engine, base.db, runner)
        stays = AgentStays(base.db, runner)
        idle = IdleTasks(base.db, work.interactive, work.proxies)
        reconnect_wait_s = max(p.agent_reconnect_wait_s for p in base.settings.all_pools)
        return (
            partial(maintain_tables, base.db),
            partial(end_silent_trials, self._services.experiments.detached),
            partial(report_gc_waits, waits),
            partial(end_idle_tasks, idle),
            partial(delete_unused_namespaces, self._backends.namespaces),
            partial(aggregate_usage, usage),
            self._services.cluster.user_storage.run,
            partial(record_agents, stays, reconnect_wait_s),
            partial(queues.wait_lines.run, queues.loops.decisions),
            base.deliveries.run,
            work.deletions.run,
            work.retention.run,
            queues.recorder.run,
            queues.machines.run,
        )
