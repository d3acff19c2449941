"""The pods of this master: changes of each, and those that are given up."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from datetime import datetime

import msgspec

from determined_master import clock
from determined_master.backends.kubernetes.client import (
    KubernetesApi,
    KubernetesRefused,
    KubernetesUnreachable,
)
from determined_master.backends.kubernetes.options import Times
from determined_master.backends.kubernetes.pods.by_node import PodsByNode
from determined_master.backends.kubernetes.pods.known import KnownPods
from determined_master.backends.kubernetes.pods.late import given_up, not_placed
from determined_master.backends.kubernetes.pods.state import (
    Observed,
    ended_by_deletion,
    gone,
    observe,
    with_pull_error,
)
from determined_master.backends.kubernetes.pods.status import Json
from determined_master.backends.kubernetes.pods.steps import ORDER, PodEntry, PodSteps
from determined_master.ports.kubernetes import PodEvents
from determined_wire.agent_link import Failure

log = logging.getLogger(__name__)

KILL_S = 1.0
"""From the kill to the certain end of all processes."""


class PodCache(KnownPods):
    def __init__(self, api: KubernetesApi, events: PodEvents, times: Times) -> None:
        super().__init__()
        self._api = api
        self._times = times
        self._steps = PodSteps(api, events, times, self._drop)

    def replace_all(self, items: Iterable[Json]) -> None:
        """All existing pods: others are deleted."""
        now = self._api.now()
        observed = {o.report.container_id: (o, raw) for o, raw in _observed(items, now)}
        for container_id, entry in list(self._entries.items()):
            if container_id not in observed and not entry.is_gone:
                self._vanish(entry, None)
        for pod, raw in observed.values():
            self.note(pod, raw)

    def note_created(self, observed: Observed, raw: Json) -> None:
        """A pod was created; what the watch has already brought of it is newer."""
        if observed.report.container_id not in self._entries:
            self.note(observed, raw)

    def note(self, observed: Observed, raw: Json | None = None) -> None:
        """A pod is new or has changed."""
        container_id = observed.report.container_id
        entry = self._entries.get(container_id)
        if entry is None:
            begun = observed.report
            if observed.is_ending:
                begun = msgspec.structs.replace(begun, state="RUNNING", failure=None)
            entry = self._entries[container_id] = PodEntry(observed, begun)
        observed = with_pull_error(observed, entry.seen.pull_error)
        if entry.seen.is_evicted:
            observed = ended_by_deletion(observed)
        if entry.seen.node != observed.node:
            self.by_node.remove(entry)
        entry.seen, entry.raw = observed, raw or entry.raw
        self.by_node.put(entry)
        if observed.is_ending and not self._has_ended(entry):
            self._steps.go_on(entry)
            return
        if ORDER[observed.report.state] > ORDER[entry.report.state]:
            entry.report = observed.report
        if observed.is_stopped:
            entry.stopped.set()
        self._steps.go_on(entry)

    def _has_ended(self, entry: PodEntry) -> bool:
        """Whether the grace period of a signalled program has passed."""
        now_s = clock.monotonic_s()
        if entry.ends_at_s is None:
            spec = (entry.raw or {}).get("spec") or {}
            own_s = int(spec.get("terminationGracePeriodSeconds") or 0)
            entry.ends_at_s = now_s + max(self._times.grace_s, own_s) + KILL_S
        return now_s >= entry.ends_at_s

    def removed(self, observed: Observed) -> None:
        """A pod is deleted; this is its last known state."""
        entry = self._entries.get(observed.report.container_id)
        if entry is not None and entry.seen.uid == observed.uid:
            self._vanish(entry, observed)

    def note_obstacle(self, uid: str, text: str, at: datetime | None) -> None:
        """A node could not start a pod, and tries it again."""
        for entry in self._entries.values():
            if entry.seen.uid == uid:
                entry.obstacle, entry.obstacle_at = text, at or self._api.now()

    def note_kill(self, container_id: str) -> None:
        """Kubernetes has accepted a kill signal for it."""
        entry = self._entries.get(container_id)
        if entry is not None:
            entry.was_killed = True

    def forget(self, container_id: str) -> None:
        """Its end is stored: delete its pod once its log is copied."""
        entry = self._entries.get(container_id)
        if entry is not None:
            entry.is_forgotten = True
            self._steps.go_on(entry)

    async def delete(self, pod: Observed, *, grace_s: int | None = None) -> None:
        """Delete a pod; a missing one is no error. Raises Unreachable, Refused."""
        await self._steps.delete(pod, grace_s=grace_s)

    def abandon(self, node: str) -> None:
        """Nobody waits for the pods of a lost node any more: `delete_abandoned` ends them.

        They may still run there, so they are not removed by force: each keeps its slots until its
        kubelet has ended it, or the node is removed from the cluster.
        """
        for entry in self._entries.values():
            if entry.seen.node == node:
                self._abandon(entry)

    def abandon_one(self, container_id: str) -> None:
        """The same of one pod that nobody wants."""
        entry = self._entries.get(container_id)
        if entry is not None:
            self._abandon(entry)

    async def delete_abandoned(self) -> None:
        """Ask for the end of abandoned pods, each until the API server has accepted it."""
        for entry in list(self._entries.values()):
            if not entry.is_abandoned or entry.is_gone:
                continue
            try:
                await self._steps.delete(entry.seen)
            except (KubernetesUnreachable, KubernetesRefused) as error:
                log.warning("a pod is not deleted: %s", error, extra={"pod": entry.seen.name})
            else:
                entry.is_abandoned = False

    async def lose(self, node: str, reason: str) -> None:
        """Report the end of handed-over pods on a lost node, and ask for their deletion.

        Those of other pods are reported with the node, by the agent that it is.
        """
        lost = [e for e in self._entries.values() if e.seen.is_handed_over]
        for entry in [e for e in lost if e.seen.runs_on == node and not e.is_gone]:
            if entry.report.state != "TERMINATED":
                text = f"node {node} was lost: {reason}"
                entry.report = msgspec.structs.replace(
                    entry.report,
                    state="TERMINATED",
                    failure=Failure("agent_failed", text),
                    addresses=(),
                )
                entry.stopped.set()
                self._steps.go_on(entry)
            await self._steps.delete(entry.seen)

    def tick(self) -> list[Observed]:
        """Give up pods that have waited too long; returns those to delete."""
        now, late = self._api.now(), []
        for entry in self._entries.values():
            pod = entry.seen
            if pod.is_ending and not entry.is_gone:
                self.note(pod, entry.raw)
            if entry.is_gone or pod.has_output or entry.report.state == "TERMINATED":
                continue
            again = observe(entry.raw, now) if entry.raw else None
            if again is not None and again.report.state == "TERMINATED":
                self.note(again, entry.raw)
                continue
            text = given_up(entry, now, self._times)
            if text:
                entry.report = not_placed(pod, text)
                late.append(pod)
                self._steps.go_on(entry)
        return late

    async def close(self) -> None:
        """Stop all work; the pods stay."""
        tasks = [t for e in self._entries.values() for t in (e.reporter, e.copier, e.remover) if t]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._entries, self.by_node = {}, PodsByNode()

    def _abandon(self, entry: PodEntry) -> None:
        entry.is_forgotten = entry.is_abandoned = True

    def _vanish(self, entry: PodEntry, last: Observed | None) -> None:
        entry.is_gone = True
        entry.stopped.set()
        if last is not None and last.report.state == "TERMINATED":
            self.by_node.remove(entry)
            entry.seen = last
            self.by_node.put(entry)
            if entry.report.state != "TERMINATED":
                entry.report = last.report
        elif entry.report.state != "TERMINATED":
            entry.report = gone(entry.seen)
        self._steps.go_on(entry)

    def _drop(self, entry: PodEntry) -> None:
        container_id = entry.report.container_id
        if self._entries.get(container_id) is entry:
            del self._entries[container_id]
            self.by_node.remove(entry)


def _observed(items: Iterable[Json], now: datetime) -> Iterable[tuple[Observed, Json]]:
    for item in items:
        pod = observe(item, now)
        if pod is not None:
            yield pod, item
