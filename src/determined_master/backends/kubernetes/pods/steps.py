"""The steps of one pod: its states are reported, its log is copied, and it is removed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from determined_master.backends.kubernetes.client import (
    KubernetesApi,
    KubernetesRefused,
    KubernetesUnreachable,
)
from determined_master.backends.kubernetes.log.pod_log import PodLog, Source
from determined_master.backends.kubernetes.options import Times
from determined_master.backends.kubernetes.pods.state import Observed
from determined_master.backends.kubernetes.pods.status import Json
from determined_master.ports.kubernetes import PodEvents
from determined_wire.agent_link import ContainerReport, LogBatch

log = logging.getLogger(__name__)

ORDER = {"ASSIGNED": 0, "PULLING": 1, "STARTING": 2, "RUNNING": 3, "TERMINATED": 4}


@dataclass
class PodEntry:
    """One container's pod."""

    seen: Observed
    report: ContainerReport
    """The state to report; it only moves forward."""
    raw: Json = field(default_factory=dict)
    obstacle: str = ""
    """Why its node could not start it at the last try."""
    obstacle_at: datetime | None = None
    ends_at_s: float | None = None
    """When a signalled program has certainly ended, by the monotonic clock."""
    reported: int = 0
    was_killed: bool = False
    is_gone: bool = False
    is_forgotten: bool = False
    is_abandoned: bool = False
    """Its end is not asked for yet."""
    reporter: asyncio.Task[None] | None = None
    copier: asyncio.Task[None] | None = None
    remover: asyncio.Task[None] | None = None
    stopped: asyncio.Event = field(default_factory=asyncio.Event)


class PodSteps:
    def __init__(
        self,
        api: KubernetesApi,
        events: PodEvents,
        times: Times,
        forgotten: Callable[[PodEntry], None],
    ) -> None:
        """
        Args:
            api: of the cluster.
            events: takes states and output.
            times: of pauses.
            forgotten: takes a pod that is removed and that nobody waits for.
        """
        self._api = api
        self._events = events
        self._times = times
        self._forgotten = forgotten

    def go_on(self, entry: PodEntry) -> None:
        """Start the next steps of a pod that are not running yet."""
        if ORDER[entry.report.state] > entry.reported and entry.reporter is None:
            entry.reporter = _spawn(self._report(entry))
        is_over = entry.report.state == "TERMINATED"
        if entry.copier is None and (entry.seen.has_output or is_over):
            copies = self._copy(entry) if entry.seen.has_output else self._close_output(entry)
            entry.copier = _spawn(copies)
        if entry.is_forgotten and entry.remover is None:
            entry.remover = _spawn(self._remove(entry))

    async def _report(self, entry: PodEntry) -> None:
        """Report its state until that succeeds; states that have passed until then are skipped."""
        pauses = self._times.backoff.pauses()
        try:
            while ORDER[entry.report.state] > entry.reported:
                report = entry.report
                number = ORDER[report.state]
                if report.state == "TERMINATED" and entry.copier is not None:
                    # the log is complete before the end is reported
                    await asyncio.wait({entry.copier}, timeout=self._times.last_lines_s)
                try:
                    await self._events.container_changed(
                        entry.seen.node, entry.seen.uid, number, report
                    )
                except Exception:
                    log.exception("a pod's state was not stored", extra={"pod": entry.seen.name})
                    await asyncio.sleep(next(pauses))
                else:
                    entry.reported = number
        finally:
            entry.reporter = None

    async def _copy(self, entry: PodEntry) -> None:
        pod = entry.seen
        source = Source(
            name=pod.name,
            namespace=pod.namespace,
            node=pod.node,
            container_id=pod.report.container_id,
            allocation_id=pod.report.allocation_id,
            task_id=pod.task_id,
        )
        copying = PodLog(source, self._api, self._events, self._times, entry.stopped)
        try:
            await copying.copy()
        except Exception:
            log.exception("a pod's log was not copied to its end", extra={"pod": pod.name})

    async def _close_output(self, entry: PodEntry) -> None:
        """Report that a container which never ran has no output."""
        report = entry.report
        batch = LogBatch(
            container_id=report.container_id,
            allocation_id=report.allocation_id,
            task_id=entry.seen.task_id,
            first_seq=1,
            is_last=True,
        )
        try:
            await self._events.store_logs(entry.seen.node, batch)
        except Exception:
            log.exception("the end of an output was not stored", extra={"pod": entry.seen.name})

    async def _remove(self, entry: PodEntry) -> None:
        """Delete its pod, once its log is copied. Kubernetes deletes the Secret that it owns."""
        pauses = self._times.backoff.pauses()
        if entry.copier is not None:
            await asyncio.gather(entry.copier, return_exceptions=True)
        while not entry.is_gone:
            try:
                await self.delete(entry.seen)
                break
            except (KubernetesUnreachable, KubernetesRefused) as error:
                log.warning("a pod is not deleted: %s", error, extra={"pod": entry.seen.name})
            await asyncio.sleep(next(pauses))
        entry.remover = None
        if entry.is_gone:
            self._forgotten(entry)

    async def delete(self, pod: Observed, *, grace_s: int | None = None) -> None:
        """Delete a pod; a missing one is no error. Raises Unreachable, Refused."""
        query = {} if grace_s is None else {"gracePeriodSeconds": str(grace_s)}
        path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"
        try:
            await self._api.call("DELETE", path, query=query)
        except KubernetesRefused as error:
            if error.status == 409:
                raise KubernetesUnreachable(str(error)) from error  # it changes: once more
            if error.status != 404:
                raise


def _spawn(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    return asyncio.create_task(work)
