"""A node that did not get a job's pod placed is avoided by this job for a while."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tests.domain.builders import alloc, changed, run, running
from tests.pools.test_live import live

from determined_master import clock


def unplaced(agent: str, id: str, job_id: str = "job") -> alloc.Allocation:
    failure = alloc.ContainerFailure(type="not_placed", message="0/2 nodes are available")
    state = replace(running(agent, job_id=job_id), id=id)
    ended, _ = run(changed(agent, "TERMINATED", failure=failure), state=state)
    assert ended.outcome is not None
    assert (ended.outcome.kind, ended.outcome.is_failed_start) == ("lost", True)
    return ended


def test_the_job_avoids_the_node_for_longer_each_time_and_others_do_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now_s = 1000.0
    monkeypatch.setattr(clock, "monotonic_s", lambda: now_s)
    held = live()
    for n, rest_s in enumerate((60, 120, 240)):
        held.changed(unplaced("a", f"{n}.1"), 1)
        now_s += rest_s - 0.1
        avoided = held.avoided_by("job")
        assert [m.one for m in avoided.values()] == [
            f"is avoided for {rest_s} s, because 0/2 nodes are available"
        ]
        assert list(avoided) == ["a"]
        assert held.avoided_by("other") == {}
        now_s += 0.2
        assert held.avoided_by("job") == {}
    for n in range(10):
        held.changed(unplaced("a", f"{n}.2"), 1)
    now_s += 3599
    assert list(held.avoided_by("job")) == ["a"]
    now_s += 2
    assert held.avoided_by("job") == {}


def test_a_pod_that_runs_there_ends_it() -> None:
    held = live(unplaced("a", "1.1"), unplaced("b", "2.1"))
    assert sorted(held.avoided_by("job")) == ["a", "b"]
    held.changed(running("a"), 1)
    assert list(held.avoided_by("job")) == ["b"]


def test_other_tasks_still_use_the_node() -> None:
    from tests.pools.test_live import snapshot

    [seen] = live(unplaced("a", "1.1")).view("default", [snapshot("a")]).agents
    assert seen.is_accepting
