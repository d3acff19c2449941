"""What the flight recorder keeps: views and plans, each frame the changes since the one before.

What has not changed is the same object in one view and the next, so a frame is found by
comparing identities, and its size is that of what has happened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from operator import attrgetter
from typing import Any, TypeVar

import msgspec

from determined_master.domain.schedule.plan import Plan, Preempt, Start, Wait
from determined_master.domain.schedule.view import (
    AgentView,
    PoolView,
    RequestView,
    Rules,
    RunningView,
)

_T = TypeVar("_T")
_AGENT: Callable[[AgentView], str] = attrgetter("id")
_WAITING: Callable[[RequestView | RunningView | Wait], str] = attrgetter("allocation_id")


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
        """Whether anything has happened."""
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


class Camera:
    """The last decision; makes the next frame from it."""

    def __init__(self) -> None:
        self._agents: dict[int, AgentView] = {}
        self._pending: dict[int, RequestView] = {}
        self._running: dict[int, RunningView] = {}
        self._waits: dict[str, Wait] = {}

    def take(self, view: PoolView, plan: Plan, *, is_key: bool) -> Frame:
        """The frame of a decision.

        Cost: O(1) an object of the view, in loops of the interpreter's own; only what has
        changed is looked at one by one.
        """
        agents, pending, running = (
            _by_identity(v) for v in (view.agents, view.pending, view.running)
        )
        waits = dict(zip(map(_WAITING, plan.waits), plan.waits, strict=True))
        if is_key:
            self._agents, self._pending, self._running, self._waits = {}, {}, {}, {}
        new_agents, gone_agents = _news(self._agents, agents, _AGENT)
        new_pending, gone_pending = _news(self._pending, pending, _WAITING)
        new_running, gone_running = _news(self._running, running, _WAITING)
        frame = Frame(
            pool=view.pool,
            at=view.now,
            rules=view.rules,
            is_key=is_key,
            agents=new_agents,
            pending=new_pending,
            running=new_running,
            waits=_different(self._waits, waits),
            gone_agents=gone_agents,
            gone_pending=gone_pending,
            gone_running=gone_running,
            starts=plan.starts,
            preemptions=plan.preemptions,
        )
        self._agents, self._pending, self._running = agents, pending, running
        self._waits = waits
        return frame


class Film:
    """A decision that is moved on by frames that were stored."""

    def __init__(self) -> None:
        self.agents: dict[str, AgentView] = {}
        self.pending: dict[str, RequestView] = {}
        self.running: dict[str, RunningView] = {}
        self.waits: dict[str, Wait] = {}

    def play(self, frame: Frame) -> tuple[PoolView, Plan]:
        """The decision that a frame stands for; frames are played in their order from a key."""
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


def _by_identity(items: Iterable[_T]) -> dict[int, _T]:
    """By the address of each; an address belongs to one object as long as this holds it."""
    known = tuple(items)
    return dict(zip(map(id, known), known, strict=True))


def _news(
    before: Mapping[int, _T], after: Mapping[int, _T], key: Callable[[_T], str]
) -> tuple[tuple[_T, ...], tuple[str, ...]]:
    """What is new or changed, in its order, and the keys of what is not there any more."""
    new, old = after.keys() - before.keys(), before.keys() - after.keys()
    items = tuple([item for at, item in after.items() if at in new]) if new else ()
    if not old:
        return items, ()
    changed = set(map(key, items))
    left = [key(item) for at, item in before.items() if at in old]
    return items, tuple([name for name in left if name not in changed])


def _different(before: Mapping[str, Wait], after: Mapping[str, Wait]) -> tuple[Wait, ...]:
    """Those that say something else: each plan makes them anew."""
    known = map(before.get, after)
    return tuple([item for item, was in zip(after.values(), known, strict=True) if was != item])


def _apply(kept: dict[str, Any], gone: Iterable[str], changed: Iterable[tuple[str, Any]]) -> None:
    for id in gone:
        kept.pop(id, None)
    for id, item in changed:
        kept[id] = item
