"""All open allocations in memory, and the queue of each pool."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from determined_master import clock
from determined_master.domain.pods.queues import is_queue
from determined_master.domain.schedule.view import (
    AgentView,
    PoolView,
    Rules,
    RunningView,
)
from determined_master.domain.states import AllocationState
from determined_master.pools.agent_backoff import AgentBackoff, CurrentBackoff
from determined_master.pools.jobs import Jobs
from determined_master.pools.occupancy import Occupancy, held
from determined_master.pools.pending_queue import PendingQueue
from determined_master.pools.placement_backoff import PlacementBackoff
from determined_master.pools.view import gone_view, request_view, running_view

if TYPE_CHECKING:
    from determined_master.domain.allocation.messages import Allocation, Container
    from determined_master.domain.pods.placement import Misfit
    from determined_master.ports.agents import AgentSnapshot

_K = TypeVar("_K")
RETURN_S = 5.0
"""How long the next request of a preempted task is expected."""


@dataclass
class _Queue:
    """Requests and running tasks of one pool, in the scheduler's form."""

    pending: PendingQueue = field(default_factory=PendingQueue)
    running: dict[str, RunningView] = field(default_factory=dict)
    jobs: Jobs = field(default_factory=Jobs)
    """Both by job."""
    gone: dict[str, tuple[RunningView, float]] = field(default_factory=dict)
    """By task: the stand-in for its next request, and its expiry."""


class LiveAllocations:
    """Kept up to date from the change feed; the rows are authoritative.

    Within a term the feed has every commit, including those that were not confirmed. Changes
    committed under an earlier leader are read from the rows when a leader begins.
    """

    def __init__(self, trigger_planning: Callable[[str], None]) -> None:
        self._states: dict[str, Allocation] = {}
        self._versions: dict[str, int] = {}
        self._ended_since: set[str] | None = None
        """Ids of those that ended since `known`: rows that were read before still have them."""
        self._of_experiment: dict[int, set[str]] = {}
        self._of_trial: dict[int, set[str]] = {}
        self._of_job: dict[str, set[str]] = {}
        self._of_task: dict[str, set[str]] = {}
        self._queues: dict[str, _Queue] = {}
        self._occupancy = Occupancy()
        self._backoffs = AgentBackoff()
        self._unplaced = PlacementBackoff()
        self._trigger_planning = trigger_planning

    def values(self) -> Iterable[Allocation]:
        """The live allocations, unordered."""
        return self._states.values()

    def find(self, allocation_id: str) -> Allocation | None:
        return self._states.get(allocation_id)

    def on_agent(self, agent_id: str) -> list[tuple[Allocation, list[Container]]]:
        """The allocations with open containers on an agent, and these containers."""
        found = [self._states[i] for i in self._occupancy.allocations_on(agent_id)]
        return [(a, [c for c in held(a) if c.agent_id == agent_id]) for a in found]

    def backoff_of(self, agent_id: str) -> CurrentBackoff | None:
        """The back-off of an agent, None without one."""
        return self._backoffs.find(agent_id)

    def next_backoff_end_s(self) -> float | None:
        """How long until the next back-off ends, None without any."""
        return self._backoffs.next_end_s()

    def avoided_by(self, job_id: str) -> Mapping[str, Misfit]:
        """The nodes on which Kubernetes did not place pods of a job lately, by agent."""
        return self._unplaced.of_job(job_id)

    def of_job(self, job_id: str) -> list[Allocation]:
        """A job's live allocations, unordered."""
        return [self._states[i] for i in self._of_job.get(job_id, ())]

    def of_task(self, task_id: str) -> list[Allocation]:
        """A task's live allocations, unordered: one, except for a moment between two runs."""
        return [self._states[i] for i in self._of_task.get(task_id, ())]

    def jobs(self) -> Iterable[str]:
        """Ids of the jobs that have live allocations."""
        return self._of_job.keys()

    def one_of_each_job(self) -> Iterable[Allocation]:
        """One live allocation of each job, unordered: all of a job have the same terms."""
        return (self._states[next(iter(ids))] for ids in self._of_job.values())

    def states_of_experiment(self, experiment_id: int) -> list[AllocationState]:
        return [self._states[i].state for i in self._of_experiment.get(experiment_id, ())]

    def count_placed(self, experiment_id: int) -> int:
        """The number of an experiment's allocations that have slots."""
        return sum(state != "PENDING" for state in self.states_of_experiment(experiment_id))

    def states_of_trial(self, trial_id: int) -> list[AllocationState]:
        return [self._states[i].state for i in self._of_trial.get(trial_id, ())]

    def view(
        self,
        pool: str,
        agents: Iterable[AgentSnapshot],
        rules: Rules = Rules(),  # noqa: B008  frozen
        max_zero_slot_tasks: int = 100,
    ) -> PoolView:
        """One pool at this instant. Cost: O(1) per object; unchanged objects are reused.

        Args:
            pool: the pool's name.
            agents: all known agents; agents of other pools are ignored.
            rules: of the pool.
            max_zero_slot_tasks: how many tasks without slots one agent takes.
        """
        queue = self._queues.get(pool) or _Queue()
        known = [agent for agent in agents if not is_queue(agent.id)]
        self._occupancy.forget_others(known)
        expected = _still_expected(queue)
        return PoolView(
            pool=pool,
            agents=tuple(self._agent_view(a, max_zero_slot_tasks) for a in known if a.is_in(pool)),
            pending=queue.pending.requests(),
            running=(*queue.running.values(), *expected),
            now=clock.now(),
            rules=rules,
            is_sorted=True,
            jobs=queue.jobs.views(expected) if rules.type == "fair_share" else None,
        )

    def _agent_view(self, agent: AgentSnapshot, max_zero_slot_tasks: int) -> AgentView:
        seen = self._occupancy.view(agent, max_zero_slot_tasks)
        if seen.is_accepting and self._backoffs.find(agent.id) is not None:
            return replace(seen, is_accepting=False, is_resting=True)
        return seen

    def changed(self, state: Allocation, version: int) -> None:
        """Apply a committed state; a version older than the known one is ignored."""
        if version <= self._versions.get(state.id, 0):
            return
        before = self._states.get(state.id)
        self._backoffs.changed(before, state)
        self._unplaced.changed(before, state)
        is_news = before is None or _matters(before, state)
        self._keep(state, version, is_news=is_news)
        if is_news:
            self._trigger_planning(state.request.pool)

    def known(self) -> frozenset[str]:
        """Ids of the live allocations, for `reconcile` with rows read afterwards."""
        self._ended_since = set()
        return frozenset(self._states)

    def reconcile(self, known: frozenset[str], rows: Sequence[tuple[Allocation, int]]) -> None:
        """Compare with all open allocations and their versions, from the rows.

        Args:
            known: the result of `known` before the rows were read.
            rows: state and version of each open allocation.
        """
        ended, self._ended_since = self._ended_since or set(), None
        for state, version in rows:
            if state.id not in ended:
                self.changed(state, version)
        gone = known - {state.id for state, _ in rows}
        for state in [self._states[i] for i in gone if i in self._states]:
            self._drop(state)
            self._trigger_planning(state.request.pool)

    def _keep(self, state: Allocation, version: int, *, is_news: bool) -> None:
        if state.state == "TERMINATED":
            self._drop(state)
            return
        before = self._states.get(state.id)
        self._states[state.id] = state
        self._versions[state.id] = version
        self._occupancy.changed(before, state)
        if before is not None and before.request.pool != state.request.pool:
            self._unqueue(before)
        queue = self._queues.setdefault(state.request.pool, _Queue())
        if state.state == "PENDING":
            request = request_view(state)
            queue.pending.put(request)
            queue.jobs.put(request)
            queue.gone.pop(state.request.task_id, None)
        else:
            queue.pending.drop(state.id)
            if is_news:
                running = queue.running[state.id] = running_view(state)
                queue.jobs.run(running)
        if before is None:
            self._of_job.setdefault(state.request.job_id, set()).add(state.id)
            self._of_task.setdefault(state.request.task_id, set()).add(state.id)
            if state.request.experiment_id is not None:
                self._of_experiment.setdefault(state.request.experiment_id, set()).add(state.id)
            if state.request.trial_id is not None:
                self._of_trial.setdefault(state.request.trial_id, set()).add(state.id)

    def _drop(self, state: Allocation) -> None:
        if self._ended_since is not None:
            self._ended_since.add(state.id)
        before = self._states.pop(state.id, None)
        self._versions.pop(state.id, None)
        if before is None:
            return
        self._occupancy.changed(before, None)
        ran = self._unqueue(before)
        gone = gone_view(ran, state) if ran is not None else None
        if gone is not None:
            until_s = clock.monotonic_s() + RETURN_S
            self._queues[before.request.pool].gone[before.request.task_id] = gone, until_s
        _forget(self._of_job, before.request.job_id, before.id)
        _forget(self._of_task, before.request.task_id, before.id)
        if before.request.experiment_id is not None:
            _forget(self._of_experiment, before.request.experiment_id, before.id)
        if before.request.trial_id is not None:
            _forget(self._of_trial, before.request.trial_id, before.id)

    def _unqueue(self, state: Allocation) -> RunningView | None:
        queue = self._queues.get(state.request.pool)
        if queue is None:
            return None
        queue.pending.drop(state.id)
        queue.jobs.drop(state.id)
        return queue.running.pop(state.id, None)


def _still_expected(queue: _Queue) -> list[RunningView]:
    if not queue.gone:
        return []
    now_s = clock.monotonic_s()
    queue.gone = {task: entry for task, entry in queue.gone.items() if entry[1] > now_s}
    return [view for view, _ in queue.gone.values()]


def _forget(of: dict[_K, set[str]], key: _K, id: str) -> None:
    members = of.get(key, set())
    members.discard(id)
    if not members:
        of.pop(key, None)


def _matters(before: Allocation, after: Allocation) -> bool:
    """Whether the change affects the scheduler."""
    return (
        before.state != after.state
        or len(held(before)) != len(held(after))
        or before.request != after.request
        or (before.preempt_reason, before.kill_cause) != (after.preempt_reason, after.kill_cause)
    )
