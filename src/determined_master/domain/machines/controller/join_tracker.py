"""Tracks which machines ever had an agent. Machines without one cost until they are given up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec
from msgspec.structs import replace

from determined_master.domain.machines.controller.unresponsive import (
    Unresponsive,
    launch_after,
    record_silence,
)
from determined_master.domain.machines.scaling import (
    Ending,
    EndingReason,
    Limits,
    Machine,
    Scaling,
    Seen,
)

NOBODY: frozenset[str] = frozenset()
WITHOUT_AGENT: tuple[EndingReason, ...] = ("its start has failed", "long disconnected")


class JoinTracker(msgspec.Struct, frozen=True, kw_only=True):
    """The machines of one pool under one leader, by id, as far as their agents matter."""

    joined: frozenset[str] = NOBODY
    """Machines whose agent joined, under this leader or an earlier one."""
    awaited: frozenset[str] = NOBODY
    """Running machines whose agent may still join."""
    given_up: frozenset[str] = NOBODY
    last_joined_at: datetime | None = None
    """The launch time of the youngest machine whose agent joined."""
    silent: int = 0
    """How many machines in a row were given up without an agent."""
    unresponsive: Unresponsive = Unresponsive()
    is_one_tried: bool = False
    """Whether a machine that was launched after the last pause is still awaited."""


def track_look(
    tracker: JoinTracker, seen: Sequence[Seen], decided: Scaling, limits: Limits, now: datetime
) -> tuple[JoinTracker, list[str]]:
    """Account for one observation and for the decision after it.

    Args:
        tracker: after the last observation.
        seen: all machines.
        decided: the decision of `scale`.
        limits: of the pool.
        now: of this observation.

    Returns:
        The tracker, and the ids of the machines that it gives up now, in order.
    """
    ids = frozenset(s.machine.id for s in seen)
    tracker = _observe(tracker, seen, ids)
    lost = [s.machine for s in seen if _is_lost(tracker, s.machine, decided, limits, now)]
    tracker = _give_up(tracker, lost, now)
    ending = {e.machine.id for e in decided.endings}
    tracker = replace(
        tracker,
        awaited=tracker.awaited - ending - tracker.given_up,
        given_up=tracker.given_up & ids,
    )
    is_one_tried = any(_is_tried(tracker, s.machine) for s in seen)
    return replace(tracker, is_one_tried=is_one_tried), sorted(m.id for m in lost)


def _observe(tracker: JoinTracker, seen: Sequence[Seen], ids: frozenset[str]) -> JoinTracker:
    """Account for agents that have joined, and for machines whose agents are awaited."""
    present = frozenset(s.machine.id for s in seen if s.agent != "away")
    if present - tracker.joined:
        tracker = replace(tracker, silent=0, unresponsive=Unresponsive())
    joined = (tracker.joined | present) & ids
    launches = [s.machine.launched_at for s in seen if s.machine.id in joined]
    if tracker.last_joined_at is not None:
        launches.append(tracker.last_joined_at)
    running = {s.machine.id for s in seen if s.machine.state in ("starting", "running")}
    awaited = ((tracker.awaited | running) & ids) - joined - tracker.given_up
    return replace(
        tracker, joined=joined, awaited=awaited, last_joined_at=max(launches, default=None)
    )


def track_launch(tracker: JoinTracker, machines: Iterable[Machine]) -> JoinTracker:
    """Await the agents of machines that were launched after the last observation."""
    return replace(tracker, awaited=tracker.awaited | {m.id for m in machines})


def launch_limit(tracker: JoinTracker, wanted: int, now: datetime) -> int:
    """How many of the wanted machines to start now: all of them while agents join."""
    unresponsive = tracker.unresponsive
    return launch_after(unresponsive, wanted, now, is_one_tried=tracker.is_one_tried)


def restart_pause(tracker: JoinTracker, now: datetime) -> JoinTracker:
    """Restart a pause now, because the clock was set."""
    if tracker.unresponsive.at is None:
        return tracker
    return replace(tracker, unresponsive=replace(tracker.unresponsive, at=now))


def _is_lost(
    tracker: JoinTracker, machine: Machine, decided: Scaling, limits: Limits, now: datetime
) -> bool:
    """Whether no agent can join: the machine has stopped, or scaling does not await it."""
    if machine.id not in tracker.awaited:
        return False
    if machine.state == "stopped":
        return True
    if any(Ending(machine, reason) in decided.endings for reason in WITHOUT_AGENT):
        return True
    away_since = decided.clocks.away_since.get(machine.id, now)
    return now - away_since > limits.return_wait


def _is_tried(tracker: JoinTracker, machine: Machine) -> bool:
    """Whether a machine was launched after the last pause, and its agent may still join."""
    rest_at = tracker.unresponsive.at
    may_come = machine.id in tracker.awaited
    return may_come and rest_at is not None and machine.launched_at > rest_at


def _give_up(tracker: JoinTracker, lost: Sequence[Machine], now: datetime) -> JoinTracker:
    """Count the machines without an agent, unless the agent of an equally young machine joined."""
    if not lost:
        return tracker
    proven_at = tracker.last_joined_at
    new = [m.launched_at for m in lost if proven_at is None or m.launched_at > proven_at]
    return replace(
        tracker,
        given_up=tracker.given_up | {m.id for m in lost},
        silent=tracker.silent + len(new),
        unresponsive=record_silence(tracker.unresponsive, new, now),
    )
