"""Kubernetes' events of pods, as lines of their tasks' logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from determined_master.backends.kubernetes.log import event_lines
from determined_master.backends.kubernetes.watches.watch import ObjectChanged, ObjectsListed
from determined_master.ports.orders import TaskNote

if TYPE_CHECKING:
    from determined_master.backends.kubernetes.client import Json
    from determined_master.backends.kubernetes.pods.cache import PodCache
    from determined_master.ports.kubernetes import PodEvents

MAX_UNMATCHED = 1000


class PodEventNotes:
    """Notes each event once, also where it comes before its pod is known."""

    def __init__(self, pods: PodCache, events: PodEvents) -> None:
        self._pods = pods
        self._events = events
        self._told_events: set[str] = set()
        self._unmatched: dict[str, list[Json]] = {}

    async def take(self, change: ObjectsListed | ObjectChanged) -> None:
        """Report events of known pods, and keep those of others for a while."""
        items = change.items if isinstance(change, ObjectsListed) else [change.item]
        if isinstance(change, ObjectChanged) and change.kind == "DELETED":
            return
        for event in items:
            about = event.get("involvedObject") or {}
            uid = str(about.get("uid") or "")
            if self._pods.find_uid(uid) is not None:
                await self._note(event)
            elif str(about.get("name")).startswith("det-"):
                self._keep_unmatched(uid, event)

    def _keep_unmatched(self, uid: str, event: Json) -> None:
        """Keep an event of a pod that is not known yet."""
        self._unmatched.setdefault(uid, []).append(event)
        while len(self._unmatched) > MAX_UNMATCHED:
            del self._unmatched[next(iter(self._unmatched))]

    async def match(self, uids: set[str]) -> None:
        """Report events from before the pod was known."""
        for uid in uids & self._unmatched.keys():
            for event in self._unmatched.pop(uid):
                await self._note(event)

    async def _note(self, event: Json) -> None:
        uid = str((event.get("involvedObject") or {}).get("uid") or "")
        pod = self._pods.find_uid(uid)
        obstacle = event_lines.obstacle_of(event)
        if obstacle is not None:
            self._pods.note_obstacle(uid, obstacle, event_lines.happened_at(event))
        text = event_lines.line_of(event)
        mark = event_lines.identity(event)
        if pod is None or text is None or mark in self._told_events:
            return
        self._told_events.add(mark)
        if len(self._told_events) > 50_000:
            self._told_events.clear()
        await self._events.note(
            TaskNote(
                task_id=pod.task_id,
                allocation_id=pod.report.allocation_id,
                container_id=pod.report.container_id,
                agent_id=pod.node,
                text=text,
                level=event_lines.level_of(event),
                key=f"event:{mark}",
                at=event_lines.happened_at(event),
            )
        )
