"""Frames of the flight recorder: views and plans, as changes since the frame before.

An unchanged part is the same object in consecutive views, so a frame is found by comparing
identities, and its size depends on what has changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from determined_master.domain.schedule.plan import Plan, Preempt, Start, Wait
from determined_master.domain.schedule.view import (
    AgentView,
    PoolView,
    RequestView,
    Rules,
    RunningView,
)


class Frame(msgspec.Struct, frozen=True, omit_defaults=True):
    """One decision, as changes from the one before; a key frame holds all of it."""

    pool: str
    at: datetime
    rules: Rules
    is_key: bool = False
    agents: tuple[AgentView, ...] = ()
    """New or changed."""
    pending: tuple[RequestView, ...] = ()
    running: tuple[RunningView, ...] = ()
    waits: tuple[Wait, ...] = ()
    gone_agents: tuple[str, ...] = ()
    gone_pending: tuple[str, ...] = ()
    gone_running: tuple[str, ...] = ()
    starts: tuple[Start, ...] = ()
    preemptions: tuple[Preempt, ...] = ()

    @property
    def has_news(self) -> bool:
        """Whether anything has changed."""
        return bool(
            self.is_key
            or self.agents
            or self.pending
            or self.running
            or self.waits
            or self.gone_agents
            or self.gone_pending
            or self.gone_running
            or self.starts
            or self.preemptions
        )


class FrameHistory:
    """The last decision: builds the next frame from it, or replays a stored one."""

    def __init__(self) -> None:
        self.agents: dict[str, AgentView] = {}
        self.pending: dict[str, RequestView] = {}
        self.running: dict[str, RunningView] = {}
        self.waits: dict[str, Wait] = {}

    def take(self, view: PoolView, plan: Plan, *, is_key: bool) -> Frame:
        """The frame of a decision. Cost: O(1) an object of the view."""
        agents = {a.id: a for a in view.agents}
        pending = {r.allocation_id: r for r in view.pending}
        running = {r.allocation_id: r for r in view.running}
        waits = {w.allocation_id: w for w in plan.waits}
        if is_key:
            self.agents, self.pending, self.running, self.waits = {}, {}, {}, {}
        frame = Frame(
            pool=view.pool,
            at=view.now,
            rules=view.rules,
            is_key=is_key,
            agents=_changed(self.agents, agents),
            pending=_changed(self.pending, pending),
            running=_changed(self.running, running),
            waits=_different(self.waits, waits),
            gone_agents=_gone(self.agents, agents),
            gone_pending=_gone(self.pending, pending),
            gone_running=_gone(self.running, running),
            starts=plan.starts,
            preemptions=plan.preemptions,
        )
        self.agents, self.pending, self.running, self.waits = agents, pending, running, waits
        return frame

    def play(self, frame: Frame) -> tuple[PoolView, Plan]:
        """The decision of a frame; frames are replayed in order from a key frame."""
        if frame.is_key:
            self.agents, self.pending, self.running, self.waits = {}, {}, {}, {}
        _apply(self.agents, frame.gone_agents, ((a.id, a) for a in frame.agents))
        _apply(self.pending, frame.gone_pending, ((r.allocation_id, r) for r in frame.pending))
        _apply(self.running, frame.gone_running, ((r.allocation_id, r) for r in frame.running))
        for wait in frame.waits:
            self.waits[wait.allocation_id] = wait
        started = {s.allocation_id for s in frame.starts}
        waiting = self.pending.keys() - started
        self.waits = {i: w for i, w in self.waits.items() if i in waiting}
        view = PoolView(
            pool=frame.pool,
            agents=tuple(self.agents.values()),
            pending=tuple(self.pending.values()),
            running=tuple(self.running.values()),
            now=frame.at,
            rules=frame.rules,
        )
        return view, Plan(frame.starts, frame.preemptions, tuple(self.waits.values()))


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Any, ...]:
    find = before.get
    return tuple([item for id, item in after.items() if find(id) is not item])


def _different(before: Mapping[str, Wait], after: Mapping[str, Wait]) -> tuple[Wait, ...]:
    """Entries with new content; each plan builds new objects."""
    find = before.get
    return tuple([item for id, item in after.items() if find(id) != item])


def _gone(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple([id for id in before if id not in after])


def _apply(kept: dict[str, Any], gone: Iterable[str], changed: Iterable[tuple[str, Any]]) -> None:
    for id in gone:
        kept.pop(id, None)
    for id, item in changed:
        kept[id] = item
