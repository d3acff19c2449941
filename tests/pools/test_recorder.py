"""The flight recorder, and what is replayed of it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.domain.builders import T0, agent, holding, pending

from determined_master.composition.simulation import run_generated, run_recorded
from determined_master.domain.errors import InvalidArgument, NotFound
from determined_master.domain.schedule.frames import FrameHistory
from determined_master.domain.schedule.planner import plan
from determined_master.domain.schedule.simulation.outcomes import parse_agents, parse_policy
from determined_master.domain.schedule.simulation.workload import record_of
from determined_master.domain.schedule.view import PoolView, Rules
from determined_master.pools.loop import PoolDecision
from determined_master.pools.recorder import FRAMES_A_KEY, MAX_WAITING, Recorder, read_frame
from determined_master.settings.simulate import SimulateOptions
from determined_master.store.db import Database
from determined_master.store.queue import plan_frames

BEFORE = T0 - timedelta(days=1)


def decision(after_s: float, waiting=(), running=(), free: int = 4) -> PoolDecision:
    view = PoolView(
        pool="gpus",
        agents=(agent("a", 4, free=free),),
        pending=tuple(waiting),
        running=tuple(running),
        now=T0 + timedelta(seconds=after_s),
    )
    return PoolDecision(view, plan(view))


def history() -> list[PoolDecision]:
    """One task waits 10 s for another, runs 20 s; the other ran 30 s before."""
    first, second = pending("f.1", 4), pending("s.1", 4, after_s=1)
    runs = holding("f.1", ("a", 4))
    return [
        decision(0, [first]),
        decision(20, [second], [runs], free=0),
        decision(30, [second]),
        decision(31, [], [holding("s.1", ("a", 4))], free=0),
        decision(51),
    ]


async def stored(pool: Database) -> list[plan_frames.FrameRow]:
    async with pool.acquire() as conn:
        return await plan_frames.list_frames(conn, "gpus", BEFORE, T0 + timedelta(days=1))


async def test_recorded_frames_are_read_back_unchanged(pool: Database) -> None:
    recorder = Recorder(pool)
    noted = history()
    for one in noted:
        recorder.note(one)
    await recorder.flush()
    rows = await stored(pool)
    assert [row.is_key for row in rows] == [True, False, False, False, False]
    film = FrameHistory()
    again = [film.play(read_frame(row)) for row in rows]
    assert again == [(one.view, one.plan) for one in noted]


async def test_a_decision_without_news_is_not_kept(pool: Database) -> None:
    recorder = Recorder(pool)
    first = decision(0)
    recorder.note(first)
    recorder.note(PoolDecision(first.view, first.plan))
    await recorder.flush()
    assert len(await stored(pool)) == 1


async def test_lines_after_a_gap_are_complete(pool: Database) -> None:
    recorder = Recorder(pool)
    noted = [decision(n, [pending(f"r{n}.1", 9)]) for n in range(MAX_WAITING + 2)]
    for one in noted:
        recorder.note(one)
    await recorder.flush()
    film, rows = FrameHistory(), await stored(pool)
    again = [film.play(read_frame(row)) for row in rows]
    assert again == [(one.view, one.plan) for one in noted[2:]]


@pytest.mark.slow
async def test_a_record_is_bounded_and_begins_with_a_key_frame(pool: Database) -> None:
    recorder = Recorder(pool, max_frames=10)
    for n in range(3 * FRAMES_A_KEY):
        recorder.note(decision(n, [pending(f"r{n}.1", 9)]))
        if n % MAX_WAITING == 0:
            await recorder.flush()
    await recorder.flush()
    rows = await stored(pool)
    assert len(rows) == 2 * FRAMES_A_KEY  # the bound, and what came since the key before
    assert rows[0].is_key
    assert rows[-1].seq == 3 * FRAMES_A_KEY


async def test_a_new_master_continues_with_a_key_frame_after_the_last_number(
    pool: Database,
) -> None:
    for _ in range(2):
        recorder = Recorder(pool)
        recorder.note(decision(0, [pending("r.1")]))
        await recorder.flush()
    assert [(r.seq, r.is_key) for r in await stored(pool)] == [(1, True), (2, True)]


def test_a_recording_yields_its_workload() -> None:
    recorded = record_of((one.view, one.plan) for one in history())
    assert recorded is not None
    tasks = {t.id: t for t in recorded.tasks}
    assert (tasks["s"].arrives_s, tasks["s"].runs_s) == (1.0, 20.0)
    assert recorded.waited_s["s"] == 11.0
    assert tasks["f"].runs_s == 10.0
    assert recorded.unfinished == 0
    assert [(a.id, a.free_slots) for a in recorded.agents] == [("a", (0, 1, 2, 3))]


async def test_a_record_is_replayed_by_other_rules_side_by_side(pool: Database) -> None:
    recorder = Recorder(pool)
    for one in history():
        recorder.note(one)
    await recorder.flush()
    options = SimulateOptions(
        pool="gpus",
        policies=("priority", "fair_share"),
        agents="2x4",
        since="2025-01-01",
        until="2027-01-01",
    )
    async with pool.acquire() as conn:
        lines = (await run_recorded(options, conn)).splitlines()
        with pytest.raises(NotFound, match="recorded: gpus: 2026-01-01T00:00Z"):
            await run_recorded(SimulateOptions(pool="other", until="2027-01-01"), conn)
    assert lines[0].startswith("2 tasks recorded of pool gpus in 51.0 s")
    assert [line.split("  ")[0] for line in lines[3:]] == ["(as it was)", "priority", "fair_share"]


def test_the_same_seed_makes_the_same_queue() -> None:
    options = SimulateOptions(generate=30, seed=3, agents="2x8", policies=("priority+worst",))
    assert run_generated(options) == run_generated(options)
    assert "30 generated tasks (seed 3); agents: 2 x 8 slots" in run_generated(options)


def test_policies_and_agents_are_written_as_words() -> None:
    assert parse_policy("priority+preemption+worst", Rules()) == Rules(
        preemption=True, fitting="worst"
    )
    assert parse_agents("4x8,2x4") == [(4, 8), (2, 4)]
    for bad in ("lottery", ""):
        with pytest.raises(InvalidArgument, match="is none of"):
            parse_policy(bad, Rules())
    for bad in ("8", "x", "0x4", "4y8"):
        with pytest.raises(InvalidArgument, match="COUNTxSLOTS"):
            parse_agents(bad)
