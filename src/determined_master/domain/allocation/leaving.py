"""Asks an allocation to exit, and ends one that must exit at once."""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from determined_master.domain.allocation import ending, texts
from determined_master.domain.allocation.ending import Step
from determined_master.domain.allocation.messages import (
    Allocation,
    KillExpired,
    KillRequested,
    PreemptAcknowledged,
    PreemptionExpired,
    PreemptRequested,
    Refused,
)
from determined_master.domain.messages import timer

LeavingEvent = (
    PreemptRequested
    | PreemptAcknowledged
    | PreemptionExpired
    | KillRequested
    | KillExpired
    | Refused
)


def leave(state: Allocation, event: LeavingEvent) -> Step:
    """Advance an open allocation by a request to exit, or by its consequences."""
    match event:
        case PreemptRequested():
            return _preempt(state, event.reason)
        case PreemptAcknowledged() if state.preempt_reason is not None:
            return replace(state, is_preempt_acknowledged=True), []
        case PreemptAcknowledged():
            return state, []  # a survivor of a failure must not mistake its end for a preemption
        case PreemptionExpired():
            return _expire(state)
        case KillRequested():
            return ending.kill(state, "request", event.reason)
        case KillExpired():
            return ending.kill_again(state)
        case Refused():
            if state.containers:
                return state, []
            return ending.refuse(state, event.reason, is_for_now=event.is_for_now)
        case _:
            assert_never(event)


def _preempt(state: Allocation, reason: str) -> Step:
    """Ask it to exit; kill a task that cannot receive the request: it has nothing to save."""
    if state.preempt_reason is not None or state.kill_cause is not None:
        return state, []
    if not state.containers:
        return ending.end_unassigned(state, reason)
    if not (state.request.is_preemptible and state.is_ready):
        killed, effects = ending.kill(state, "leave", reason)
        return replace(killed, preempt_reason=reason), effects
    text = f"gracefully terminating allocation's remaining resources (reason: {reason})"
    return replace(state, preempt_reason=reason), [
        texts.line(state, text),
        timer(ending.PREEMPTION_TIMER, state.request.preemption_timeout_s, PreemptionExpired()),
    ]


def _expire(state: Allocation) -> Step:
    if state.preempt_reason is None:
        return state, []
    seconds = state.request.preemption_timeout_s
    reason = f"did not leave within {seconds:g} s of this request: {state.preempt_reason}"
    return ending.kill(state, "leave", reason)
