"""Offline searches: a method, virtual workers and learning curves in place of a cluster."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any, NamedTuple

from determined_master.domain.search.decision import Create, SearchDecision, Stop
from determined_master.domain.search.memory import SearchMemory
from determined_master.domain.search.method import SearchMethod
from determined_master.domain.search.records import TrialEnd


class SimulatedReport(NamedTuple):
    """One validation: seconds of work since the one before, time metric, metric to minimise."""

    after_s: float
    time: float
    metric: float


class Training(NamedTuple):
    """The simulated course of an undisturbed trial: its reports, and its end."""

    reports: Iterable[SimulatedReport]
    end: TrialEnd = "clean"


@dataclass(slots=True)
class SimulatedTrial:
    """One trial of a simulated search; instants are seconds since the search began."""

    create: Create
    started_s: float = 0.0
    ended_s: float = 0.0
    reports: int = 0
    was_stopped: bool = False
    end: TrialEnd | None = None


class SearchRun:
    """One search and all its decisions: applies each decision as an engine would."""

    def __init__(self, method: SearchMethod) -> None:
        self.method = method
        self.memory = SearchMemory()
        self.state: Any = None
        self.trials: dict[str, SimulatedTrial] = {}

    def start(self) -> SearchDecision:
        """Ask for the first trials."""
        return self._apply(self.method.initial())

    def validate(self, request_id: str, metric: float, time: float) -> SearchDecision:
        """Report a validation of one trial."""
        self.trials[request_id].reports += 1
        return self._apply(
            self.method.validation_completed(
                self.state, self.memory, request_id, metric, time, ("metric", "time")
            )
        )

    def end(self, request_id: str, end: TrialEnd) -> SearchDecision:
        self.trials[request_id].end = end
        return self._apply(self.method.trial_ended(self.state, self.memory, request_id, end))

    @property
    def open_trials(self) -> list[str]:
        """Trials that have not ended, in the order of their creation."""
        return [id for id, trial in self.trials.items() if trial.end is None]

    def _apply(self, decision: SearchDecision) -> SearchDecision:
        """Apply a decision and all trials that it postponed, as one."""
        actions, records = [*decision.actions], [*decision.records]
        self._take(decision)
        while decision.has_more:
            decision = self.method.create_more(self.state, self.memory)
            self._take(decision)
            actions += decision.actions
            records += decision.records
        return SearchDecision(self.state, tuple(actions), tuple(records))

    def _take(self, decision: SearchDecision) -> None:
        self.state = decision.state
        for record in decision.records:
            self.memory.apply(record)
        for action in decision.actions:
            match action:
                case Create():
                    self.trials[action.request_id] = SimulatedTrial(action)
                case Stop():
                    self.trials[action.request_id].was_stopped = True


@dataclass(slots=True)
class Simulation:
    """A finished simulation: how long it took, and its trials in order of creation."""

    elapsed_s: float
    trials: list[SimulatedTrial] = field(default_factory=list)


Train = Callable[[Create], Training]
"""The course of each trial; called when the trial gets a worker."""

OnReport = Callable[[float, str, SimulatedReport], None]
"""Called with each report before the method is: instant in seconds, request id, report."""


def simulate(
    method: SearchMethod, train: Train, workers: int, on_report: OnReport | None = None
) -> Simulation:
    """Run a whole search on virtual workers, one trial each, first come first served.

    Cost: O(log workers) and one decision an event. Nothing waits: time is a number here.
    """
    if workers < 1:
        raise ValueError(f"a simulation needs at least 1 worker, got {workers}")
    cluster = _Cluster(SearchRun(method), train, workers)
    cluster.enqueue(cluster.run.start())
    while cluster.events:
        cluster.advance(on_report)
    return Simulation(cluster.now_s, list(cluster.run.trials.values()))


@dataclass(slots=True)
class _Live:
    """A trial on a worker: its next report, or None if it ends next."""

    reports: Iterator[SimulatedReport]
    end: TrialEnd
    next: SimulatedReport | None = None


@dataclass(slots=True)
class _Cluster:
    run: SearchRun
    train: Train
    workers: int
    now_s: float = 0.0
    waiting: deque[str] = field(default_factory=deque)
    live: dict[str, _Live] = field(default_factory=dict)
    events: list[tuple[float, int, str]] = field(default_factory=list)
    scheduled: int = 0

    def enqueue(self, decision: SearchDecision) -> None:
        """Queue a decision's trials, and start as many as workers are free."""
        self.waiting.extend(a.request_id for a in decision.actions if isinstance(a, Create))
        while self.waiting and len(self.live) < self.workers:
            request_id = self.waiting.popleft()
            trial = self.run.trials[request_id]
            trial.started_s = self.now_s
            training = self.train(trial.create)
            self.live[request_id] = _Live(iter(training.reports), training.end)
            self._schedule(request_id)

    def advance(self, on_report: OnReport | None) -> None:
        """Process the next event: a report, and the end of a trial without further reports."""
        self.now_s, _, request_id = heappop(self.events)
        trial, one = self.run.trials[request_id], self.live[request_id]
        if one.next is not None and not trial.was_stopped:
            if on_report:
                on_report(self.now_s, request_id, one.next)
            self.enqueue(self.run.validate(request_id, one.next.metric, one.next.time))
            if not trial.was_stopped:
                self._schedule(request_id)
                return
        del self.live[request_id]
        trial.ended_s = self.now_s
        self.enqueue(self.run.end(request_id, "clean" if trial.was_stopped else one.end))

    def _schedule(self, request_id: str) -> None:
        one = self.live[request_id]
        one.next = next(one.reports, None)
        at_s = self.now_s + (one.next.after_s if one.next else 0.0)
        self.scheduled += 1
        heappush(self.events, (at_s, self.scheduled, request_id))
