"""The order in which requests of a pool are handed to its scheduler."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from determined_master.domain.schedule.ordering import queue_key
from determined_master.domain.schedule.view import RequestView
from determined_master.pools.pending_queue import PendingQueue

BORN = datetime(2026, 1, 1, tzinfo=UTC)
IDS = [f"{n}.1" for n in range(6)]


def request(id: str, priority: int, age_s: int) -> RequestView:
    return RequestView(
        allocation_id=id,
        job_id=id,
        slots=1,
        submitted_at=BORN - timedelta(seconds=age_s),
        priority=priority,
    )


PUTS = st.builds(request, st.sampled_from(IDS), st.integers(1, 3), st.integers(0, 2))
DROPS = st.sampled_from(IDS)


@given(st.lists(st.lists(PUTS | DROPS, max_size=6), max_size=6))
def test_requests_stay_in_the_order_of_the_queue_after_any_changes(
    rounds: list[list[RequestView | str]],
) -> None:
    line, waiting = PendingQueue(), dict[str, RequestView]()
    for changes in rounds:
        for change in changes:
            if isinstance(change, str):
                line.drop(change)
                waiting.pop(change, None)
            else:
                line.put(change)
                waiting[change.allocation_id] = change
        assert line.requests() == tuple(sorted(waiting.values(), key=queue_key))


def test_unchanged_requests_are_not_sorted_again() -> None:
    line = PendingQueue()
    line.put(request("b", 2, 0))
    line.put(request("a", 1, 0))
    assert [r.allocation_id for r in line.requests()] == ["a", "b"]
    assert line.requests() is line.requests()


def test_the_same_request_put_twice_waits_once() -> None:
    line, one = PendingQueue(), request("a", 1, 0)
    line.put(one)
    line.put(one)
    assert line.requests() == (one,)
