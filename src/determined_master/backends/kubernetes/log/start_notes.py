"""Notes in task logs about pods that cannot be created yet: each container's cause once."""

from __future__ import annotations

from determined_master.ports.kubernetes import PodEvents
from determined_master.ports.orders import StartOrder, TaskNote


class StartNotes:
    """Those of one cluster."""

    def __init__(self, events: PodEvents) -> None:
        self._events = events
        self._noted: set[tuple[str, str]] = set()

    async def note(self, order: StartOrder, kind: str, text: str) -> None:
        """Write one line, unless the container has one of that kind.

        Args:
            order: of the container.
            kind: of the cause; a word.
            text: the line.
        """
        key = (order.container_id, kind)
        if key in self._noted:
            return
        self._noted.add(key)
        await self._events.note(
            TaskNote(
                task_id=order.spec.task_id,
                allocation_id=order.allocation_id,
                container_id=order.container_id,
                agent_id=order.agent_id,
                text=text,
                level="WARNING",
                key=f"{kind}:{order.container_id}",
            )
        )

    def forget(self, container_id: str) -> None:
        """The container has ended."""
        self._noted = {key for key in self._noted if key[0] != container_id}
