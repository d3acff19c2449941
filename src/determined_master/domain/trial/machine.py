"""The life of a trial: runs, one allocation each, until its work is done or it ends early.

At most one allocation is open at a time. An event about another one, or for an ended trial,
changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from msgspec.structs import replace

from determined_master.domain.errors import FailedPrecondition, NotFound
from determined_master.domain.messages import CancelTimer, SetTimer, WriteTaskLog, by_tag, timer
from determined_master.domain.states import SEVERITY, TERMINAL, RunState
from determined_master.domain.trial import detached
from determined_master.domain.trial.ending import Step, allocation_ended, close, close_stopped
from determined_master.domain.trial.messages import (
    AgentExcluded,
    AllocationEnded,
    DetachedFellSilent,
    DetachedRunStarted,
    DetachedStateReported,
    EarlyExitExpired,
    EarlyExitReported,
    KillAllocation,
    PreemptAllocation,
    ReportDetachedState,
    ReportTrialEnd,
    RequestAllocation,
    RetriesCanceled,
    RoomLacked,
    Trial,
    TrialActivated,
    TrialCanceled,
    TrialContinued,
    TrialCreated,
    TrialDetached,
    TrialEffect,
    TrialEffectFailed,
    TrialErred,
    TrialEvent,
    TrialKilled,
    TrialOrder,
    TrialPaused,
    TrialStopped,
)
from determined_master.domain.trial.running import EARLY_EXIT_TIMER, allocate

EARLY_EXIT_S = 10.0
MAX_QUOTE_CHARACTERS = 500
MAX_QUOTES = 5
"""The state of a trial stays small."""
MAX_EXCLUDED_AGENTS = 50
"""More agents than that are not the cause; and a state has to stay small."""

_KILLED_BY_USER = "user requested kill"
_ORDERS: Mapping[str, type[TrialOrder]] = by_tag(TrialOrder)
_SteeringEvent = (
    TrialActivated | TrialPaused | TrialStopped | TrialCanceled | TrialKilled | TrialErred
)
_RunEvent = AllocationEnded | EarlyExitReported | EarlyExitExpired
_NotedEvent = RetriesCanceled | AgentExcluded | RoomLacked
_OpenEvent = _SteeringEvent | _RunEvent | _NotedEvent | TrialEffectFailed


def step(state: Trial | None, event: TrialEvent, context: None = None) -> Step:
    """Advance one trial by one event.

    Raises:
        NotFound: there is no such trial, and the event does not create it.
        FailedPrecondition: the event is only for detached trials and this is none, or the reverse.
    """
    if isinstance(event, TrialCreated | TrialDetached):
        return _begin(event) if state is None else (state, [])
    if state is None:
        raise NotFound("there is no such trial: it was never created")
    if state.is_detached:
        return detached.step(state, event)
    if isinstance(event, DetachedRunStarted | DetachedStateReported | DetachedFellSilent):
        raise FailedPrecondition(
            f"trial {state.id} is run by the cluster: its state follows from what it does there"
        )
    if isinstance(event, TrialContinued):
        return _continue(state, event)
    if state.state in TERMINAL:
        return state, _after_the_end(state, event)
    return _step_open(state, event)


def _step_open(state: Trial, event: _OpenEvent) -> Step:
    match event:
        case AllocationEnded() | EarlyExitReported() | EarlyExitExpired():
            return _run_changed(state, event)
        case RetriesCanceled() | AgentExcluded() | RoomLacked():
            return _noted(state, event)
        case TrialEffectFailed():
            return _effect_failed(state, event)
        case _:
            return _steer(state, event)


def _begin(event: TrialCreated | TrialDetached) -> Step:
    if isinstance(event, TrialDetached):
        return detached.create(event)
    state = Trial(
        id=event.trial_id,
        experiment_id=event.experiment_id,
        request_id=event.request_id,
        task_id=event.task_id,
        state="ACTIVE" if event.activate else "PAUSED",
        max_restarts=event.max_restarts,
        user_id=event.user_id,
    )
    return allocate(state) if event.activate else (state, [])


def _continue(state: Trial, event: TrialContinued) -> Step:
    """Open a closed trial again. Its runs are counted further, so no two share a number."""
    if state.state not in TERMINAL:
        return state, []
    opened = Trial(
        id=state.id,
        experiment_id=state.experiment_id,
        request_id=state.request_id,
        task_id=event.task_id,
        state="ACTIVE" if event.activate else "PAUSED",
        max_restarts=event.max_restarts,
        run_id=state.run_id,
        user_id=state.user_id,
    )
    return allocate(opened) if event.activate else (opened, [])


def _steer(state: Trial, event: _SteeringEvent) -> Step:
    match event:
        case TrialActivated() if state.state == "PAUSED":
            active = replace(state, state="ACTIVE", failed_starts=0)
            # The allocation of a pause may not have exited yet: the next run starts at its end.
            return allocate(active) if state.allocation_id is None else (active, [])
        case TrialPaused() if state.state == "ACTIVE":
            paused = replace(state, state="PAUSED")
            return paused, _preempt(state, "user requested pause")
        case TrialActivated() | TrialPaused():
            return state, []
        case TrialStopped():
            stopped = replace(state, is_stopped_by_searcher=True)
            return _stop(state, stopped, "STOPPING_COMPLETED", "stopped by the searcher")
        case TrialCanceled():
            return _stop(state, state, "STOPPING_CANCELED", "user requested cancel")
        case TrialKilled():
            return _stop(state, state, "STOPPING_KILLED", _KILLED_BY_USER)
        case TrialErred():
            return _stop(state, state, "STOPPING_ERROR", event.reason)
        case _:
            assert_never(event)


def _stop(state: Trial, marked: Trial, to: RunState, reason: str) -> Step:
    """Stop for a reason of higher severity than before, or at once when nothing runs.

    A repeated kill is ordered again: the first order may be lost.
    """
    now = SEVERITY.get(state.state, -1)
    if SEVERITY[to] < now or (SEVERITY[to] == now and to != "STOPPING_KILLED"):
        return state, _kill(state, reason) if to == "STOPPING_KILLED" else []
    stopping = replace(marked, state=to, reason=reason)
    if state.allocation_id is None:
        return close_stopped(stopping)
    if to in ("STOPPING_KILLED", "STOPPING_ERROR"):
        return stopping, _kill(state, reason)
    return stopping, _preempt(state, reason)


def _run_changed(state: Trial, event: _RunEvent) -> Step:
    match event:
        case AllocationEnded() if event.allocation_id == state.allocation_id:
            return allocation_ended(state, event.outcome)
        case AllocationEnded():
            return state, []
        case EarlyExitReported() if state.allocation_id is None or state.early_exit:
            return state, []
        case EarlyExitReported():
            effects: list[TrialEffect] = [
                timer(EARLY_EXIT_TIMER, EARLY_EXIT_S, EarlyExitExpired())
            ]
            noted = replace(state, early_exit=event.reason)
            if state.state in SEVERITY:
                return noted, effects
            return replace(noted, state="STOPPING_COMPLETED", reason=_invalid(noted)), effects
        case EarlyExitExpired():
            return state, _kill(state, f"{_invalid(state)}, and it did not leave by itself")
        case _:
            assert_never(event)


def _effect_failed(state: Trial, event: TrialEffectFailed) -> Step:
    if event.allocation_id not in ("", state.allocation_id):
        return state, []
    order = _ORDERS.get(event.effect)
    if order is None:
        return state, []  # only an earlier release gave such orders
    if issubclass(order, RequestAllocation):
        unplaced = replace(state, allocation_id=None)
        text = f"asking for slots failed: {event.error}"
        logged = WriteTaskLog(task_id=state.task_id, text=text, level="ERROR")
        after, effects = (
            close_stopped(unplaced)
            if state.state in SEVERITY
            else close(unplaced, "ERROR", reason=text)
        )
        return after, [logged, *effects]
    if issubclass(order, PreemptAllocation):
        return state, _kill(state, f"asking it to leave failed: {event.error}")
    if issubclass(order, KillAllocation):
        text = f"ending its attempt failed, kill the trial to try again: {event.error}"
        return state, [WriteTaskLog(task_id=state.task_id, text=text, level="ERROR")]
    if issubclass(order, (ReportTrialEnd, ReportDetachedState, SetTimer, CancelTimer)):
        return state, []
    assert_never(order)


def _after_the_end(state: Trial, event: TrialEvent) -> list[TrialEffect]:
    if isinstance(event, TrialEffectFailed) and _ORDERS.get(event.effect) is ReportTrialEnd:
        text = f"failed to report the end of trial {state.id} to its experiment: {event.error}"
        return [WriteTaskLog(task_id=state.task_id, text=text, level="ERROR")]
    return []


def _preempt(state: Trial, reason: str) -> list[TrialEffect]:
    if state.allocation_id is None:
        return []
    return [PreemptAllocation(allocation_id=state.allocation_id, reason=reason)]


def _kill(state: Trial, reason: str) -> list[TrialEffect]:
    if state.allocation_id is None:
        return []
    return [KillAllocation(allocation_id=state.allocation_id, reason=reason)]


def _invalid(state: Trial) -> str:
    return f"its code reported invalid hyperparameters ({state.early_exit})"


def _noted(state: Trial, event: _NotedEvent) -> Step:
    match event:
        case RetriesCanceled():
            return _cancel_retries(state, event), []
        case AgentExcluded():
            return _exclude(state, event)
        case RoomLacked():
            text = f"its next attempt waits for other agents: {event.reason}"
            return state, [WriteTaskLog(task_id=state.task_id, text=text, level="WARNING")]
        case _:
            assert_never(event)


def _cancel_retries(state: Trial, event: RetriesCanceled) -> Trial:
    """With one line for each policy that has matched."""
    known = (state.retries_canceled or "").splitlines()
    quote = " ".join(_quote(event).splitlines())
    if quote in known or len(known) >= MAX_QUOTES:
        return state
    return replace(state, retries_canceled="\n".join((*known, quote)))


def _exclude(state: Trial, event: AgentExcluded) -> Step:
    held = state.excluded_agents
    if event.agent_id in held or len(held) >= MAX_EXCLUDED_AGENTS:
        return state, []
    agent = event.agent_id
    text = (
        f"agent {agent} is left out of this trial's later attempts {_quote(event)}; "
        f"therefore will not schedule on {agent}"
    )
    after = replace(state, excluded_agents=(*held, event.agent_id))
    return after, [WriteTaskLog(task_id=state.task_id, text=text, level="WARNING")]


def _quote(event: RetriesCanceled | AgentExcluded) -> str:
    line = event.line[:MAX_QUOTE_CHARACTERS]
    pattern = event.pattern[:MAX_QUOTE_CHARACTERS]
    return f'(log "{line}" matched regex "{pattern}")'
