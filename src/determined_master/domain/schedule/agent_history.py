"""One agent over time, out of the recorded decisions of its pool."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Literal

import msgspec

from determined_master.domain.schedule.view import AgentView, PoolView

State = Literal["accepting", "closed", "resting", "absent"]
"""`closed`: it drains, is disabled or disconnected. `resting`: nothing could start on it."""


class AgentMoment(msgspec.Struct, frozen=True):
    """The state of the agent from an instant until the next one."""

    at: datetime
    state: State
    slots: int
    """Enabled slots, in use or free."""
    used: int


class Holding(msgspec.Struct, frozen=True):
    """An allocation on the agent; it may have begun before and continue after the record."""

    allocation_id: str
    slots: int
    since: datetime
    until: datetime | None = None


class AgentRecord(msgspec.Struct, frozen=True):
    """Changes of an agent, and what held its slots, by the instant of its begin."""

    moments: tuple[AgentMoment, ...]
    holdings: tuple[Holding, ...]


def record_of_agent(agent_id: str, views: Iterable[PoolView], since: datetime) -> AgentRecord:
    """The record of an agent from `since` on.

    The state at `since` comes from the decisions before it. An agent that a decision does not
    have is absent.

    Cost: O(n) in the running allocations of all decisions.
    """
    moments: list[AgentMoment] = []
    open_: dict[str, Holding] = {}
    closed: list[Holding] = []
    for view in views:
        at = max(view.now, since)
        _note(moments, _moment(at, _agent(view, agent_id)))
        held = _held(agent_id, view)
        for allocation_id in [i for i in open_ if i not in held]:
            ended = open_.pop(allocation_id)
            if view.now > since:
                closed.append(msgspec.structs.replace(ended, until=at))
        for allocation_id, slots in held.items():
            open_.setdefault(allocation_id, Holding(allocation_id, slots, at))
    holdings = sorted([*closed, *open_.values()], key=lambda one: (one.since, one.allocation_id))
    return AgentRecord(tuple(moments), tuple(holdings))


def _agent(view: PoolView, agent_id: str) -> AgentView | None:
    return next((a for a in view.agents if a.id == agent_id), None)


def _note(moments: list[AgentMoment], moment: AgentMoment) -> None:
    """Add a moment; it replaces the one of the same instant."""
    if moments and moments[-1].at == moment.at:
        moments.pop()
    if not moments or _differs(moments[-1], moment):
        moments.append(moment)


def _moment(at: datetime, agent: AgentView | None) -> AgentMoment:
    if agent is None:
        return AgentMoment(at, "absent", 0, 0)
    state: State = "accepting"
    if agent.is_resting:
        state = "resting"
    elif not agent.is_accepting:
        state = "closed"
    used = agent.slots - len(agent.free_slots) + sum(slots for _, slots in agent.shut)
    return AgentMoment(at, state, agent.slots, max(used, 0))


def _differs(one: AgentMoment, other: AgentMoment) -> bool:
    return (one.state, one.slots, one.used) != (other.state, other.slots, other.used)


def _held(agent_id: str, view: PoolView) -> dict[str, int]:
    return {
        running.allocation_id: slots
        for running in view.running
        if not running.is_gone
        for agent, slots in running.slots_by_agent
        if agent == agent_id
    }
