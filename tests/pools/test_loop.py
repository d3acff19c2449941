"""A pool's loop: when it plans, and what becomes of its plans."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace
from tests.agent_link import until
from tests.covers import covers
from tests.domain.builders import alloc, running, waiting
from tests.pools.test_live import failing, live, snapshot

from determined_master.domain.errors import FailedPrecondition
from determined_master.pools import agent_backoff as resting
from determined_master.pools import loop as subject
from determined_master.pools.live import LiveAllocations
from determined_master.pools.loop import PoolConfig, PoolDecision, PoolLoop
from determined_wire.backoff import Backoff


class Engine:
    """Takes what loops post; refuses it as stale when told so."""

    def __init__(self) -> None:
        self.posted: list[tuple[str, Any]] = []
        self.refuses = False

    async def post(self, kind: str, id: str, event: Any, *, cause: str) -> None:
        self.posted.append((id, event))
        if self.refuses:
            raise FailedPrecondition("the plan is stale")


def loop_of(held: LiveAllocations, engine: Any, agents: Any, **rules: Any) -> PoolLoop:
    config = PoolConfig("default", subject.Rules(**rules), 100)
    return PoolLoop(config, engine, lambda: agents, held)


@asynccontextmanager
async def running_loop(pool: PoolLoop) -> AsyncIterator[list[float]]:
    """The loop at work; the instants at which its plans begin."""
    at: list[float] = []
    clock = asyncio.get_running_loop().time
    tick = type(pool).tick

    async def noted() -> None:
        at.append(clock())
        await tick(pool)

    pool.tick = noted  # type: ignore[method-assign]  # what a plan takes may come between
    task = asyncio.create_task(pool.run())
    yield at
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@covers("scheduling-and-provisioning b.1.flagged b.1.pause")
async def test_a_loop_plans_on_news_but_not_in_a_row_and_now_and_then_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(subject, "MIN_TICK_S", 0.05)
    pool = loop_of(live(), Engine(), [])
    async with running_loop(pool) as at:
        for n in range(1, 4):
            pool.trigger_planning()
            pool.trigger_planning()
            await until(lambda n=n: len(at) >= n)
        assert min(b - a for a, b in pairwise(at)) >= 0.045
        assert len(at) == 3
    assert (subject.IDLE_TICK_S, PoolLoop.__module__) == (5.0, subject.__name__)
    monkeypatch.setattr(subject, "IDLE_TICK_S", 0.01)
    async with running_loop(pool) as at:
        await until(lambda: len(at) >= 2)


async def test_a_loop_plans_once_an_agent_has_rested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "IDLE_TICK_S", 3600.0)
    monkeypatch.setattr(resting, "BACKOFF", Backoff(0.05, 0.05))
    engine, held = Engine(), live(replace(waiting(slots=1), id="w.1"))
    pool = loop_of(held, engine, [snapshot("a", 1)])
    async with running_loop(pool):
        held.changed(failing("a", "f.1"), 1)
        pool.trigger_planning()
        await until(lambda: engine.posted)
    assert engine.posted[0][0] == "w.1"


@covers("scheduling-and-provisioning b.1.idle")
async def test_a_pass_over_an_unchanged_pool_decides_the_same_and_starts_nothing() -> None:
    engine = Engine()
    held = live(running("a"), replace(waiting(slots=2), id="w.1"))
    pool = loop_of(held, engine, [snapshot("a", 2)])
    decisions: list[PoolDecision] = [pool.decide() for _ in range(3)]
    assert decisions[0].plan == decisions[1].plan == decisions[2].plan
    assert [(d.plan.starts, d.plan.preemptions) for d in decisions] == [((), ())] * 3
    await pool.tick()
    assert engine.posted == []


@covers("scheduling-and-provisioning b.1.stale b.1.reason")
async def test_decisions_of_a_plan_are_posted_and_stale_ones_keep_waiting() -> None:
    urgent = replace(waiting(slots=1, priority=1, job_id="other"), id="u.1")
    low = running("a", priority=60)
    engine = Engine()
    engine.refuses = True
    pool = loop_of(live(low, urgent), engine, [snapshot("a", 2)])
    await pool.tick()
    [(id, event)] = engine.posted
    assert (id, type(event)) == ("u.1", alloc.Assigned)
    assert [(c.agent_id, c.slot_ids) for c in event.containers] == [("a", (1,))]
    await pool.tick()
    assert [id for id, _ in engine.posted] == ["u.1", "u.1"]
    pool = loop_of(live(low, urgent), engine, [snapshot("a", 1)], preemption=True)
    await pool.tick()
    assert engine.posted[2:] == [
        (low.id, alloc.PreemptRequested(reason="preempted by the scheduler"))
    ]
