"""Pools whose pods wait in the cluster's own queue."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tests.domain.builders import T0, agent, holding, pending

from determined_master.domain.pods.queues import is_queue, queue_name
from determined_master.domain.schedule import planner
from determined_master.domain.schedule.handover import MAX_WAITING
from determined_master.domain.schedule.plan import Start
from determined_master.domain.schedule.view import PoolView, RequestView, Rules, RunningView
from determined_master.domain.schedule.why import explain

QUEUE = queue_name("p")
RULES = Rules(type="kubernetes", queue=QUEUE, max_slots_per_pod=4)


def view(*requests: RequestView, running: tuple[RunningView, ...] = ()) -> PoolView:
    return PoolView("p", (), requests, running, now=T0, rules=RULES)


def started(made: PoolView) -> list[str]:
    return [s.allocation_id for s in planner.plan(made).starts]


def test_every_request_is_handed_over_in_the_order_of_the_queue_without_nodes() -> None:
    made = view(pending("b", 4, 1), pending("a", 8), pending("c", 0, 2, priority=60))
    made = replace(
        made, pending=tuple(replace(r, priority=r.priority or 42) for r in made.pending)
    )
    assert planner.plan(made).starts == (
        Start("c", ((QUEUE, ()),)),
        Start("a", ((QUEUE, (0, 1, 2, 3)), (QUEUE, (0, 1, 2, 3)))),
        Start("b", ((QUEUE, (0, 1, 2, 3)),)),
    )


def test_a_request_that_cannot_be_split_is_not_handed_over() -> None:
    made = view(pending("a", 6), pending("b", 4, 1))
    decided = planner.plan(made)
    assert [s.allocation_id for s in decided.starts] == ["b"]
    why = explain(made, decided, "a", with_smaller=False)
    assert why is not None
    assert why.code == "impossible"
    assert "6 slots cannot be split into pods of max_slots_per_pod 4" in why.reason


def test_the_limit_of_a_job_holds_and_holds_nobody_back() -> None:
    running = (holding("r", (QUEUE, 4), job_id="one"),)
    made = view(
        pending("a", 4, job_id="one", max_slots=4),
        pending("b", 4, 1, job_id="two", max_slots=4),
        pending("c", 4, 2, job_id="two", max_slots=4),
        pending("aux", 0, 3, job_id="one", max_slots=4),
        running=running,
    )
    assert started(made) == ["b", "aux"]
    codes = {w.allocation_id: w.code for w in planner.plan(made).waits}
    assert codes == {"a": "limit", "c": "limit"}


def test_only_so_many_pods_wait_in_the_cluster_and_running_ones_do_not_count() -> None:
    running = (
        holding("r", *[(QUEUE, 4)] * 1000),
        holding("w", *[(QUEUE, 4)] * (MAX_WAITING - 1), is_waiting=True),
    )
    made = view(pending("a", 4), pending("b", 4, 1), pending("c", 8, 2), running=running)
    decided = planner.plan(made)
    assert [s.allocation_id for s in decided.starts] == ["a"]
    why = explain(made, decided, "b")
    assert why is not None
    assert (why.code, why.ahead_count, why.smaller) == ("handed", 0, None)
    assert "fewer than 200 pods of pool 'p' wait in the cluster's own queue" in why.reason


def test_a_gang_beyond_the_bound_goes_when_nothing_else_waits() -> None:
    large = pending("large", 4 * (MAX_WAITING + 1))
    assert started(view(large, pending("b", 4, 1))) == ["large"]
    waiting = (holding("w", (QUEUE, 4), is_waiting=True),)
    later = view(large, pending("b", 4, 1), running=waiting)
    assert started(later) == [], "those after it must not pass it for ever"


@pytest.mark.parametrize(
    ("agent_id", "expected"), [(QUEUE, True), ("queue", False), ("node-queue.a", False)]
)
def test_a_queue_is_no_node(agent_id: str, expected: bool) -> None:
    assert is_queue(agent_id) is expected
    assert QUEUE == "queue:p"


def test_nodes_change_nothing() -> None:
    made = view(pending("a", 4))
    assert planner.plan(replace(made, agents=(agent("n", 4, 0),))) == planner.plan(made)
