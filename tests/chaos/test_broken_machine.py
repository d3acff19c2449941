"""A cluster of one machine on which nothing starts, over hours of simulated time."""

from __future__ import annotations

import asyncio

import pytest
from tests.chaos import history, machine
from tests.chaos.cluster import Cluster
from tests.chaos.run import run

from determined_master.domain.trial.ending import MAX_FAILED_STARTS

SEED = 1
MAX_SIMULATED_S = 4 * 3600.0


@pytest.mark.slow
def test_trials_that_no_machine_can_start_end_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The agent rests between the starts, so the twenty of them take over an hour."""
    monkeypatch.setattr(machine, "_LAUNCH_FAILS", 2.0)
    made = history.shape(SEED)
    shape = history.Shape(made.settings, (("default-0", "default", 4),), made.gang_patience_s)
    ends = dict[int, tuple[str, int, str]]()
    took_s = 0.0

    async def wait_for_the_end(cluster: Cluster) -> int:
        nonlocal took_s
        cluster.submit(1)
        rows = cluster.server.tables.table("experiments")
        until_s = cluster.loop.time() + MAX_SIMULATED_S
        began_s = cluster.loop.time()
        while cluster.loop.time() < until_s:
            await asyncio.sleep(10.0)
            if rows and all(row["ended_at"] for row in rows.values()):
                break
        took_s = cluster.loop.time() - began_s
        for (kind, id), state in cluster.commits.states.items():
            if kind == "trial":
                ends[int(id)] = (state.state, state.run_id, state.reason)
        return 1

    result = run(SEED, wait_for_the_end, shape)
    assert result.violations == []
    assert ends, result.story[-20:]
    for state, runs, reason in ends.values():
        assert (state, runs) == ("ERROR", MAX_FAILED_STARTS)
        assert "starts in a row failed by the fault of their agents" in reason
        assert "the daemon is full" in reason
    assert 3600.0 < took_s < MAX_SIMULATED_S
