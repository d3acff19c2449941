"""What tasks report by their output: kept with their allocation, for its story and for `why`."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from determined_master.aggregates.allocations import ALLOCATION
from determined_master.domain.allocation import messages as alloc
from determined_master.domain.ids import AllocationId
from determined_master.engine.causes import Occurrence

if TYPE_CHECKING:
    from determined_master.domain.task.notices import TaskNotice
    from determined_master.engine import Engine
    from determined_master.pools.live import LiveAllocations
    from determined_wire.agent_link import LogBatch

MAX_NOTICES = 100
"""Of one container: each is a line of the journal, and any program can write the marks."""
MAX_CONTAINERS = 10_000


class TaskNotices:
    """Posts the notices of live containers."""

    def __init__(self, engine: Engine, live: LiveAllocations) -> None:
        self._engine = engine
        self._live = live
        self._counts: OrderedDict[str, int] = OrderedDict()

    async def report(self, batch: LogBatch, notices: Sequence[TaskNotice]) -> None:
        """Post those that change something; one that comes again changes nothing."""
        for notice in notices:
            event = self._event(batch, notice)
            if event is None or self._is_too_many(batch.container_id, event):
                continue
            cause = Occurrence(
                "task notice", f"{batch.container_id}:{batch.first_seq + notice.line}"
            )
            id = AllocationId(batch.allocation_id)
            await self._engine.post(ALLOCATION, id, event, cause=cause)

    def _event(self, batch: LogBatch, notice: TaskNotice) -> alloc.AllocationEvent | None:
        state = self._live.find(batch.allocation_id)
        containers = () if state is None else state.containers
        container = next((c for c in containers if c.id == batch.container_id), None)
        if container is None:
            return None
        match notice.kind:
            case "master_away" if container.master_away != notice.text:
                return alloc.MasterUnreachable(container.id, notice.text)
            case "master_back" if container.master_away:
                return alloc.MasterReached(container.id)
            case "main_thread_ended" if not container.main_thread:
                return alloc.MainThreadEnded(container.id, notice.text)
        return None

    def _is_too_many(self, container_id: str, event: alloc.AllocationEvent) -> bool:
        """Count a notice; the end of an outage is always accepted, once for each outage."""
        count = self._counts.get(container_id, 0)
        if count >= MAX_NOTICES:
            return not isinstance(event, alloc.MasterReached)
        self._counts[container_id] = count + 1
        if len(self._counts) > MAX_CONTAINERS:
            self._counts.popitem(last=False)
        return False
