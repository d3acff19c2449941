"""How many machines what waits would fill (scheduling and provisioning, c.1)."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.covers import covers
from tests.domain.builders import pending

from determined_master.domain.machines.demand import demand
from determined_master.domain.schedule.view import Size

E = "scheduling-and-provisioning"
SIZE = Size(slots=8, zero_slot_tasks=10, max_machines=4)


def waits(*slots: int, **terms: Any) -> list[Any]:
    """Requests for so many slots, each of a job of its own unless `job_id` is given."""
    return [
        pending(f"{number}.{count}", slots=count, **{"job_id": f"job-{number}", **terms})
        for number, count in enumerate(slots)
    ]


@covers(f"{E} c.1.slots")
def test_slots_fill_machines() -> None:
    assert demand([], {}, SIZE) == 0
    assert demand(waits(1), {}, SIZE) == 1
    assert demand(waits(8), {}, SIZE) == 1
    assert demand(waits(5, 5), {}, SIZE) == 2
    assert demand(waits(16, 1), {}, SIZE) == 3


@covers(f"{E} c.1.zero_slot")
def test_tasks_without_slots_fill_machines_by_their_number() -> None:
    assert demand(waits(0), {}, SIZE) == 1
    assert demand(waits(*[0] * 21), {}, SIZE) == 3
    assert demand(waits(0), {}, Size(8, 0, 4)) == 0


@covers(f"{E} c.1.larger")
def test_tasks_with_and_without_slots_share_machines() -> None:
    assert demand(waits(8, 8, *[0] * 11), {}, SIZE) == 2
    assert demand(waits(8, *[0] * 21), {}, SIZE) == 3


@covers(f"{E} c.1.odd")
def test_a_request_too_large_for_these_machines_asks_for_none() -> None:
    assert demand(waits(12), {}, SIZE) == 0
    assert demand(waits(16, is_single_node=True), {}, SIZE) == 0
    assert demand(waits(1, 8), {}, Size(0, 10, 4)) == 0


@covers(f"{E} c.1.too_large")
def test_a_request_too_large_for_the_largest_pool_asks_for_no_machine() -> None:
    assert demand(waits(32), {}, SIZE) == 4
    assert demand(waits(40), {}, SIZE) == 0


@covers(f"{E} c.1.max_slots")
def test_a_job_counts_up_to_the_slots_that_its_limit_leaves() -> None:
    grid = waits(*[8] * 4, job_id="grid", max_slots=16)
    assert demand(grid, {}, SIZE) == 2
    assert demand(grid, {"grid": 8}, SIZE) == 1
    assert demand(grid, {"grid": 16}, SIZE) == 0
    assert demand([*grid, *waits(8)], {"grid": 16}, SIZE) == 1


@given(st.lists(st.sampled_from([0, 1, 3, 8, 12, 16, 40]), max_size=12), st.randoms())
def test_the_order_changes_nothing_and_more_never_asks_for_less(
    slots: list[int], random: Random
) -> None:
    requests = waits(*slots)
    needed = demand(requests, {}, SIZE)
    random.shuffle(requests)
    assert demand(requests, {}, SIZE) == needed
    assert demand(requests[1:], {}, SIZE) <= needed
