"""Back-off of a job's pods on nodes where Kubernetes did not place them.

A planned node may be wrong for a reason that only Kubernetes' scheduler knows: a volume of
another zone, a rule about other pods. The job tries other nodes first, and that one later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from determined_master import clock
from determined_master.domain.pods.placement import Misfit
from determined_wire.backoff import Backoff

if TYPE_CHECKING:
    from collections.abc import Mapping

    from determined_master.domain.allocation.messages import Allocation

BACKOFF = Backoff(60.0, 3600.0)
_MAX_JOBS = 10_000


class _Entry(msgspec.Struct, frozen=True):
    until_s: float
    """By the monotonic clock."""
    failures: int
    reason: Misfit


class PlacementBackoff:
    """Tracks the changes of allocations. A container that runs ends the back-off of its node."""

    def __init__(self) -> None:
        self._jobs: dict[str, dict[str, _Entry]] = {}

    def changed(self, before: Allocation | None, after: Allocation) -> None:
        known = {c.id: c.state for c in before.containers} if before is not None else {}
        job_id = after.request.job_id
        for container in after.containers:
            if container.state == known.get(container.id):
                continue
            failure = container.failure
            if container.state == "RUNNING" and job_id in self._jobs:
                self._jobs[job_id].pop(container.agent_id, None)
            elif failure is not None and failure.type == "not_placed":
                first = after.failure  # a container keeps no text once it has ended
                message = failure.message or (first.message if first is not None else "")
                self._begin(job_id, container.agent_id, message)

    def of_job(self, job_id: str) -> Mapping[str, Misfit]:
        """The nodes that a job avoids now, with the reason."""
        entries = self._jobs.get(job_id)
        if not entries:
            return {}
        now_s = clock.monotonic_s()
        return {agent: e.reason for agent, e in entries.items() if e.until_s > now_s}

    def _begin(self, job_id: str, agent_id: str, message: str) -> None:
        entries = self._jobs.setdefault(job_id, {})
        failures = entries[agent_id].failures + 1 if agent_id in entries else 1
        rest_s = BACKOFF.after(failures)
        text = f"avoided for {rest_s:g} s, because {message}"
        reason = Misfit(f"is {text}", f"are {text}")
        entries[agent_id] = _Entry(clock.monotonic_s() + rest_s, failures, reason)
        while len(self._jobs) > _MAX_JOBS:
            del self._jobs[next(iter(self._jobs))]
