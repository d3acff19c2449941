"""The jobs of one pool, kept from plan to plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from determined_master.domain.schedule.jobs import job_view

if TYPE_CHECKING:
    from collections.abc import Iterable

    from determined_master.domain.schedule.view import JobView, RequestView, RunningView


class _Job:
    """One job's requests and tasks; its view is built on demand."""

    __slots__ = ("pending", "running", "view")

    def __init__(self) -> None:
        self.pending: dict[str, RequestView] = {}
        self.running: dict[str, RunningView] = {}
        self.view: JobView | None = None


class Jobs:
    """The demand and holdings of each job: requests for slots, and tasks that have some.

    Cost: O(1) a change. A query of all jobs costs O(n log n) in the members of each changed job.
    """

    def __init__(self) -> None:
        self._jobs: dict[str, _Job] = {}
        self._job_of: dict[str, str] = {}

    def put(self, one: RequestView) -> None:
        """Add a request; replaces the request or task with the same id."""
        self.drop(one.allocation_id)
        if one.slots > 0:
            self._changed(one).pending[one.allocation_id] = one

    def run(self, one: RunningView) -> None:
        """Add a running task; replaces the request or task with the same id."""
        self.drop(one.allocation_id)
        if one.slots > 0:
            self._changed(one).running[one.allocation_id] = one

    def drop(self, allocation_id: str) -> None:
        """Remove a request or task, if present."""
        job_id = self._job_of.pop(allocation_id, None)
        if job_id is None:
            return
        job = self._jobs[job_id]
        job.view = None
        job.pending.pop(allocation_id, None)
        job.running.pop(allocation_id, None)
        if not (job.pending or job.running):
            del self._jobs[job_id]

    def views(self, expected: Iterable[RunningView] = ()) -> tuple[JobView, ...]:
        """All jobs.

        Args:
            expected: placeholders of requests that will return; they are not stored.
        """
        more: dict[str, list[RunningView]] = {}
        for one in expected:
            if one.slots > 0:
                more.setdefault(one.job_id, []).append(one)
        found: list[JobView] = []
        for id, job in self._jobs.items():
            if more and id in more:
                running = [*job.running.values(), *more.pop(id)]
                found.append(job_view(id, job.pending.values(), running))
                continue
            if job.view is None:
                job.view = job_view(id, job.pending.values(), list(job.running.values()))
            found.append(job.view)
        return (*found, *(job_view(id, (), running) for id, running in more.items()))

    def _changed(self, one: RequestView | RunningView) -> _Job:
        job = self._jobs.get(one.job_id)
        if job is None:
            job = self._jobs[one.job_id] = _Job()
        job.view = None
        self._job_of[one.allocation_id] = one.job_id
        return job
