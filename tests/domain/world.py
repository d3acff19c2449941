"""The three machines in one memory, with agents, users and timers that a test moves as it likes.

It stands for the engine: effects of one aggregate are carried out in their order, those about
different things and of different aggregates in any; what is told under one cause counts once.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import msgspec
from tests.domain.builders import alloc_request
from tests.domain.fake_search import context

from determined_master.domain import ids, states
from determined_master.domain.allocation import machine as allocation_machine
from determined_master.domain.allocation import messages as alloc
from determined_master.domain.errors import DetError
from determined_master.domain.experiment import machine as experiment_machine
from determined_master.domain.experiment import messages as exp
from determined_master.domain.messages import (
    CancelTimer,
    Effect,
    Event,
    Record,
    SetTimer,
)
from determined_master.domain.schedule.planner import plan
from determined_master.domain.schedule.view import AgentView, PoolView, RequestView
from determined_master.domain.trial import machine as trial_machine
from determined_master.domain.trial import messages as trial

Key = tuple[str, str]
EXPERIMENT: Key = ("experiment", "7")
AGENTS = {"a": 2, "b": 2}
EVENTS: dict[str, Any] = {
    "experiment": exp.ExperimentEvent,
    "trial": trial.TrialEvent,
    "allocation": alloc.AllocationEvent,
}
NEXT: dict[str, Any] = {"experiment": states.EXPERIMENT_NEXT, "trial": states.TRIAL_NEXT}
FALLIBLE = (
    exp.CreateTrial,
    exp.ContinueTrial,
    exp.StartGc,
    exp.RemoveExperiment,
    exp.StopTrial,
    exp.SignalTrials,
    trial.RequestAllocation,
    trial.PreemptAllocation,
    trial.KillAllocation,
    alloc.StartContainer,
    alloc.SignalContainer,
)
SIGNALS: dict[str, trial.TrialEvent] = {
    "activate": trial.TrialActivated(),
    "pause": trial.TrialPaused(),
    "cancel": trial.TrialCanceled(),
    "kill": trial.TrialKilled(),
    "error": trial.TrialErred(reason="its experiment cannot continue"),
}
PROGRESS = {"ASSIGNED": "PULLING", "PULLING": "STARTING", "STARTING": "RUNNING"}


class World:
    """One experiment of a fixed search, on two agents with two slots each."""

    def __init__(self, slots: int = 1, max_restarts: int = 1) -> None:
        self.slots, self.max_restarts = slots, max_restarts
        self.states: dict[Key, Any] = {}
        self.outbox: dict[Key, deque[tuple[str, Effect]]] = {}
        self.timers: dict[tuple[Key, str], Event] = {}
        self.processes: dict[str, tuple[str, str, str]] = {}
        """State, agent and allocation of each container that an agent still keeps."""
        self.reports: dict[str, deque[tuple[str, alloc.ContainerChanged]]] = {}
        self.said: list[tuple[str, alloc.ContainerChanged]] = []
        self.ended: list[str] = []
        """Request ids of trials that reported their end."""
        self.continued: list[str] = []
        """Request ids of trials that were opened again, or were to be."""
        self._search = context(first=2, total=3)
        self._causes: set[tuple[Key, str]] = set()
        self._count = 0
        self.post(EXPERIMENT, exp.ExperimentCreated(experiment_id=7, activate=True))

    def post(self, key: Key, event: Any, cause: str = "") -> None:
        """Apply one event, once a cause; a refusal by the domain changes nothing."""
        self._count += 1
        cause = cause or f"event {self._count}"
        if (key, cause) in self._causes:
            return
        kind, before = key[0], self.states.get(key)
        try:
            state, effects = self._step(kind, before, through_json(event, EVENTS[kind]))
        except DetError:
            return
        self._causes.add((key, cause))
        assert through_json(state, type(state)) == state
        assert len(effects) <= 12 + 4 * len(getattr(state, "containers", ()))
        if before is not None:
            assert is_legal(kind, before.state, state.state), (event, before, state)
        self.states[key] = state
        for number, effect in enumerate(effects):
            self._order(key, f"{key}/{self._count}/{number}", effect)

    def _step(self, kind: str, state: Any, event: Any) -> tuple[Any, list[Any]]:
        if kind == "experiment":
            after, produced = experiment_machine.step(state, event, self._search)
            return after, list(produced)
        if kind == "trial":
            return trial_machine.step(state, event)
        return allocation_machine.step(state, event)

    def _order(self, key: Key, name: str, effect: Any) -> None:
        match effect:
            case Record():
                return
            case SetTimer():
                event = msgspec.json.decode(effect.event, type=EVENTS[key[0]])
                self.timers[key, effect.name] = event
            case CancelTimer():
                self.timers.pop((key, effect.name), None)
            case _:
                if isinstance(effect, trial.ReportTrialEnd):
                    self.ended.append(effect.request_id)
                self.outbox.setdefault(key, deque()).append((name, effect))

    # What the engine and the handlers do.

    def busy(self) -> list[Key]:
        return sorted(key for key, queue in self.outbox.items() if queue)

    def deliver(self, key: Key, times: int = 1, place: int = 0) -> None:
        """Carry out an aggregate's next effect, once or again after a lost answer.

        With a place one that need not wait for those before it, if there is one there.
        """
        queue = self.outbox[key]
        name, effect = queue[min(place, side_by_side(queue) - 1)]
        queue.remove((name, effect))
        for _ in range(times):
            self._carry_out(key, name, effect)

    def give_up(self, key: Key) -> None:
        """Let an aggregate's next effect fail for good."""
        name, effect = self.outbox[key][0]
        if not isinstance(effect, FALLIBLE):
            return
        self.outbox[key].popleft()
        kinds: dict[str, Any] = {
            "experiment": exp.ExperimentEffectFailed,
            "trial": trial.TrialEffectFailed,
            "allocation": alloc.AllocationEffectFailed,
        }
        failed = kinds[key[0]]
        shared = {
            f: getattr(effect, f)
            for f in failed.__struct_fields__
            if f not in ("effect", "error") and hasattr(effect, f)
        }
        tag = str(effect.__struct_config__.tag)
        self.post(key, failed(effect=tag, error="given up", **shared), name)

    def fire(self, key: Key, name: str) -> None:
        """Let a timer go off."""
        self.post(key, self.timers.pop((key, name)))

    def _carry_out(self, key: Key, cause: str, effect: Any) -> None:
        match effect:
            case exp.CreateTrial():
                self._create_trial(cause, effect)
            case exp.ContinueTrial():
                self._continue_trial(cause, effect)
            case exp.PlanDeletion() | exp.StartGc() | exp.RemoveExperiment():
                self._delete(cause, effect)
            case exp.StopTrial():
                number = str(1 + int(effect.request_id[1:]))
                self.post(("trial", number), trial.TrialStopped(), cause)
            case exp.SignalTrials():
                for other in self.trials():
                    self.post(other, SIGNALS[effect.signal], cause)
            case trial.RequestAllocation():
                self._request_allocation(key, cause, effect)
            case trial.PreemptAllocation():
                asked = alloc.PreemptRequested(reason=effect.reason)
                self.post(("allocation", effect.allocation_id), asked, cause)
            case trial.KillAllocation():
                killed = alloc.KillRequested(reason=effect.reason)
                self.post(("allocation", effect.allocation_id), killed, cause)
            case trial.ReportTrialEnd():
                told = exp.TrialEnded(request_id=effect.request_id, end=effect.end)
                self.post(EXPERIMENT, told, cause)
            case _:
                self._carry_out_for_allocation(key, cause, effect)

    def _delete(self, cause: str, effect: Any) -> None:
        match effect:
            case exp.PlanDeletion():
                planned = exp.GcPlanned(task_ids=("g1", "g2"), is_deletion=True)
                self.post(EXPERIMENT, planned, cause)
            case exp.StartGc():
                ended = exp.GcEnded(task_id=effect.task_id)
                self.post(EXPERIMENT, ended, cause)
            case exp.RemoveExperiment():
                self.post(EXPERIMENT, exp.ExperimentRemoved(), cause)

    def _carry_out_for_allocation(self, key: Key, cause: str, effect: Any) -> None:
        match effect:
            case alloc.ReportAllocationEnd():
                over = trial.AllocationEnded(allocation_id=key[1], outcome=effect.outcome)
                self.post(("trial", str(self.states[key].request.trial_id)), over, cause)
            case alloc.StartContainer() if self.states[key].kill_reason is None:
                begun = ("ASSIGNED", effect.agent_id, key[1])
                self.processes.setdefault(effect.container_id, begun)
            case alloc.SignalContainer():
                self.end_process(effect.container_id, 137, effect.agent_id, key[1])
            case alloc.ForgetContainer():
                held = self.processes.get(effect.container_id)
                assert held is None or held[0] == "TERMINATED", "still running"
                self.processes.pop(effect.container_id, None)

    def _create_trial(self, cause: str, effect: exp.CreateTrial) -> None:
        number = 1 + int(effect.request_id[1:])
        task_id = ids.trial_task_id(ids.ExperimentId(7), ids.RequestId(effect.request_id))
        created = trial.TrialCreated(
            trial_id=number,
            experiment_id=7,
            request_id=effect.request_id,
            task_id=task_id,
            max_restarts=self.max_restarts,
            activate=self.states[EXPERIMENT].state == "ACTIVE",
        )
        self.post(("trial", str(number)), created, cause)

    def continue_it(self) -> None:
        """Let the ended experiment continue with the trials that were not completed."""
        closed = [self.states[key] for key in self.trials()]
        open_again = [t for t in closed if t.state != "COMPLETED"]
        before = self.states[EXPERIMENT]
        event = exp.ExperimentContinued(
            request_ids=tuple(t.request_id for t in open_again),
            failed=sum(t.state == "ERROR" for t in open_again),
            canceled=sum(t.state == "CANCELED" for t in open_again),
        )
        self.post(EXPERIMENT, event)
        if self.states[EXPERIMENT] is not before:
            self.continued += event.request_ids

    def _continue_trial(self, cause: str, effect: exp.ContinueTrial) -> None:
        key = ("trial", str(1 + int(effect.request_id[1:])))
        earlier = self.states[key].task_id
        first, _, number = earlier.partition("-")
        event = trial.TrialContinued(
            task_id=f"{first}-{int(number or 0) + 1}",
            max_restarts=self.max_restarts,
            activate=self.states[EXPERIMENT].state == "ACTIVE",
        )
        self.post(key, event, cause)

    def _request_allocation(self, key: Key, cause: str, effect: trial.RequestAllocation) -> None:
        request = alloc_request(
            task_id=self.states[key].task_id, slots=self.slots, trial_id=int(key[1])
        )
        event = alloc.AllocationRequested(allocation_id=effect.allocation_id, request=request)
        self.post(("allocation", effect.allocation_id), event, cause)

    # What agents and the pool do.

    def advance(self, container: str) -> None:
        """Let a container come further on its agent."""
        state, agent_id, allocation = self.processes[container]
        if state in PROGRESS:
            self.processes[container] = (PROGRESS[state], agent_id, allocation)
            self._report(container, PROGRESS[state], agent_id, allocation)

    def end_process(self, container: str, code: int, agent_id: str, allocation: str) -> None:
        """Let a container end; one that its agent does not have was ended before it began."""
        state, _, _ = self.processes.get(container, ("", "", ""))
        if state == "TERMINATED":
            return
        kind: alloc.FailureType = "container_failed" if state else "container_aborted"
        failure = alloc.ContainerFailure(type=kind, message="", exit_code=code) if code else None
        self.processes[container] = ("TERMINATED", agent_id, allocation)
        self._report(container, "TERMINATED", agent_id, allocation, failure)

    def lose(self, agent_id: str) -> None:
        """Let an agent vanish with all that it runs; it is back at once, without them."""
        self.reports.pop(agent_id, None)
        gone = [c for c, (_, agent, _) in self.processes.items() if agent == agent_id]
        for container in gone:
            del self.processes[container]
        failure = alloc.ContainerFailure(type="agent_failed", message="no answer")
        for key in self.allocations():
            live = tuple(
                c.id
                for c in self.states[key].containers
                if c.agent_id == agent_id and c.state != "TERMINATED"
            )
            if live:
                lost = alloc.AgentLost(agent_id=agent_id, container_ids=live, failure=failure)
                self.post(key, lost)

    def hear(self, agent_id: str) -> None:
        """Let an agent's next report arrive."""
        allocation, event = self.reports[agent_id].popleft()
        self.post(("allocation", allocation), event)

    def _report(
        self,
        container: str,
        state: Any,
        agent_id: str,
        allocation: str,
        failure: alloc.ContainerFailure | None = None,
    ) -> None:
        code = None if state != "TERMINATED" else failure.exit_code if failure else 0
        event = alloc.ContainerChanged(
            container_id=container,
            state=state,
            failure=failure,
            exit_code=code,
            agent_id=agent_id,
        )
        self.reports.setdefault(agent_id, deque()).append((allocation, event))
        self.said.append((allocation, event))

    def plan(self) -> None:
        """Plan once and start what can start."""
        made = plan(self.view())
        for start in made.starts:
            self._count += 1
            placed = tuple(
                alloc.Placed(f"c{self._count}{agent}", agent, slots)
                for agent, slots in start.placement
            )
            self.post(("allocation", start.allocation_id), alloc.Assigned(containers=placed))

    def view(self) -> PoolView:
        """The pool as its scheduler sees it; a slot that two containers hold is an error."""
        used: dict[str, set[int]] = {agent: set() for agent in AGENTS}
        pending = []
        for key in self.allocations():
            state = self.states[key]
            for container in state.containers:
                if container.state != "TERMINATED":
                    assert not used[container.agent_id] & set(container.slot_ids)
                    used[container.agent_id] |= set(container.slot_ids)
            if state.state == "PENDING":
                request = state.request
                pending.append(
                    RequestView(state.id, request.job_id, request.slots, request.submitted_at)
                )
        agents = tuple(
            AgentView(id=a, slots=n, free_slots=tuple(sorted(set(range(n)) - used[a])))
            for a, n in AGENTS.items()
        )
        return PoolView(pool="default", agents=agents, pending=tuple(pending))

    # What a test looks at.

    def trials(self) -> list[Key]:
        return sorted(key for key in self.states if key[0] == "trial")

    def allocations(self) -> list[Key]:
        return sorted(key for key in self.states if key[0] == "allocation")

    def alive(self) -> list[str]:
        return sorted(c for c, (state, _, _) in self.processes.items() if state != "TERMINATED")


def side_by_side(queue: deque[tuple[str, Effect]]) -> int:
    """How many effects at the head do not wait for each other: they are about different things."""
    seen: set[str] = set()
    for _, effect in queue:
        if effect.about is None or effect.about in seen:
            break
        seen.add(effect.about)
    return max(len(seen), 1)


def through_json(value: Any, as_type: Any) -> Any:
    """The value after it was stored and read back."""
    return msgspec.json.decode(msgspec.json.encode(value), type=as_type)


def is_legal(kind: str, before: Any, after: Any) -> bool:
    """Whether one event may lead there, over any number of states."""
    if kind == "allocation":
        order = states.ALLOCATION_ORDER
        return order[before] <= order[after]
    reached, edge = {before}, {before}
    while edge:
        edge = set().union(*(NEXT[kind][s] for s in edge)) - reached
        reached |= edge
    return after in reached
