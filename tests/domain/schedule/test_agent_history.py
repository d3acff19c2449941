"""One agent over time, out of recorded decisions."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.domain.builders import T0, agent, holding

from determined_master.domain.schedule.agent_history import record_of_agent
from determined_master.domain.schedule.view import PoolView


def view(after_s: float, *agents: Any, running: tuple[Any, ...] = ()) -> PoolView:
    now = T0 + timedelta(seconds=after_s)
    return PoolView(pool="default", agents=agents, pending=(), running=running, now=now)


def at(after_s: float) -> Any:
    return T0 + timedelta(seconds=after_s)


def test_only_changes_of_the_agent_are_recorded() -> None:
    views = [
        view(0, agent("a", 4), agent("b", 2)),
        view(1, agent("a", 4), agent("b", 2, free=0)),
        view(2, agent("a", 4, free=1)),
        view(3, agent("a", 4, free=1, is_accepting=False)),
        view(4, agent("a", 4, free=1, is_accepting=False, is_resting=True)),
        view(5),
        view(6, agent("a", 2, shut=(("x.1", 2),))),
    ]
    found = record_of_agent("a", views, at(0)).moments
    assert [(m.at, m.state, m.slots, m.used) for m in found] == [
        (at(0), "accepting", 4, 0),
        (at(2), "accepting", 4, 3),
        (at(3), "closed", 4, 3),
        (at(4), "resting", 4, 3),
        (at(5), "absent", 0, 0),
        (at(6), "accepting", 2, 2),
    ]


def test_the_state_at_the_begin_comes_from_before() -> None:
    before = holding("old.1", ("a", 1))
    running = holding("x.1", ("a", 2), ("b", 4))
    views = [
        view(0, agent("a", 4), running=(before, running)),
        view(5, agent("a", 4, free=2), running=(running,)),
        view(20, agent("a", 4, free=2), running=(running, holding("y.1", ("b", 1)))),
        view(30, agent("a", 4), running=()),
    ]
    found = record_of_agent("a", views, at(10))
    assert [(m.at, m.used) for m in found.moments] == [(at(10), 2), (at(30), 0)]
    assert [(h.allocation_id, h.slots, h.since, h.until) for h in found.holdings] == [
        ("x.1", 2, at(10), at(30))
    ]


def test_an_allocation_that_still_runs_has_no_end() -> None:
    found = record_of_agent("a", [view(0, agent("a"), running=(holding("x.1", ("a", 1)),))], at(0))
    assert [(h.allocation_id, h.until) for h in found.holdings] == [("x.1", None)]


def test_an_allocation_that_is_gone_holds_nothing() -> None:
    gone = holding("x.1", ("a", 1), is_gone=True)
    assert record_of_agent("a", [view(0, agent("a"), running=(gone,))], at(0)).holdings == ()
