"""Texts and bounds: sizes that a pool could hold, names, limits of priorities, places."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from tests.domain.builders import agent

from determined_master.domain.schedule.fitting import Demand
from determined_master.domain.schedule.ordering import between
from determined_master.domain.schedule.priorities import is_beyond, urgency
from determined_master.domain.schedule.reasons import (
    count,
    free_slots,
    impossible,
    names,
    nearest_sizes,
)
from determined_master.domain.schedule.simulation.simulate import SimTask, agents_of, simulate
from determined_master.domain.schedule.view import Rules, Size


def demand(slots: int, *, single: bool = False, excluded: tuple[str, ...] = ()) -> Demand:
    return Demand(slots=slots, is_single_node=single, excluded_agents=frozenset(excluded))


@pytest.mark.parametrize(
    ("slots", "agents", "expected"),
    [
        (3, [agent("a", 2), agent("b", 2)], (2, 4)),
        (4, [agent("a", 2), agent("b", 2)], (2, None)),
        (5, [agent("a", 4), agent("b", 4)], (4, 8)),
        (2, [agent("a", 4)], (1, 3)),
        (1, [agent("a", 1), agent("cpu", 0)], (0, None)),
        (6, [agent("a", 4), agent("b", 3), agent("c", 3)], (4, None)),
        (5, [agent("a", 4), agent("b", 3), agent("c", 3)], (4, 6)),
    ],
)
def test_the_nearest_sizes_are_parts_of_one_agent_or_whole_agents_of_one_size(
    slots: int, agents: list[Any], expected: tuple[int, int | None]
) -> None:
    assert nearest_sizes(slots, agents) == expected


def test_at_most_five_names_are_shown_and_the_others_counted() -> None:
    assert names(["a", "b"]) == "a, b"
    assert names(list("abcde")) == "a, b, c, d, e"
    assert names(list("abcdefg")) == "a, b, c, d, e and 2 more"
    assert names(list("abcdef")) == "a, b, c, d, e and 1 more"


def test_slots_are_counted_in_words() -> None:
    assert [count(n) for n in (0, 1, 2)] == ["0 slots", "1 slot", "2 slots"]


def test_free_slots_are_those_of_agents_that_accept_work() -> None:
    agents = [agent("a", 4, free=1), agent("b", 4, free=3), agent("c", is_accepting=False)]
    assert free_slots(agents) == (4, 3)
    assert free_slots([]) == (0, 0)


@pytest.mark.parametrize(
    ("wanted", "agents", "text"),
    [
        (demand(1), [], "pool 'p' has no agent that takes work: start or enable one"),
        (
            demand(1),
            [agent("b", is_accepting=False), agent("a", is_accepting=False)],
            "pool 'p' has no agent that takes work (a, b take no work at present): start or "
            "enable one",
        ),
        (
            demand(1),
            [agent("a", is_accepting=False, is_resting=True)],
            "pool 'p' has no agent that takes work (on a the last starts failed, it is tried "
            "again soon): repair or replace them",
        ),
        (
            demand(1, excluded=("b", "a")),
            [agent("a"), agent("b")],
            "log policies exclude every agent of pool 'p' (a, b) for this task: repair or "
            "replace them, or start a new trial",
        ),
        (
            demand(0),
            [agent("a", max_zero_slot_tasks=0)],
            "pool 'p' takes no tasks without slots: raise its max_aux_containers_per_agent",
        ),
        (
            demand(1),
            [agent("a", 0)],
            "pool 'p' has agents without slots only: add agents with slots",
        ),
        (
            demand(6, single=True),
            [agent("a", 4), agent("b", 2)],
            "needs 6 slots on one agent, and the largest of pool 'p' has 4: ask for at most 4, "
            "or add a larger agent; experiments and generic tasks can turn "
            "resources.is_single_node off",
        ),
        (
            demand(9),
            [agent("a", 4), agent("b", 4)],
            "needs 9 slots, and pool 'p' has 8: ask for less, or add agents",
        ),
        (
            demand(6),
            [agent("a", 4), agent("b", 4), agent("c", 1)],
            "6 slots cannot be split over whole agents of one size in pool 'p', whose agents "
            "have 2 x 4 slots, 1 x 1 slot: ask for 4 or 8, or any other number up to 4 or "
            "multiple of one of these sizes",
        ),
    ],
)
def test_a_request_that_no_empty_pool_would_hold_says_why_and_what_would_fit(
    wanted: Demand, agents: list[Any], text: str
) -> None:
    assert impossible(wanted, "p", agents) == text


@pytest.mark.parametrize(
    ("slots", "single", "expected"),
    [(0, False, True), (4, True, True), (8, False, True), (8, True, False), (6, False, False)],
)
def test_machines_hold_what_fits_one_or_fills_several(
    slots: int, single: bool, expected: bool
) -> None:
    size = Size(slots=4, zero_slot_tasks=1, max_machines=3)
    assert size.may_hold(slots, is_single_node=single) is expected
    assert size.may_hold(12, is_single_node=False)
    assert not size.may_hold(16, is_single_node=False)


def test_machines_without_places_hold_nothing() -> None:
    size = Size(slots=0, zero_slot_tasks=0, max_machines=3)
    assert not size.may_hold(0, is_single_node=False)
    assert not size.may_hold(1, is_single_node=False)


@pytest.mark.parametrize(
    ("order", "priority", "expected"),
    [
        ("smaller_first", 9, True),
        ("smaller_first", 10, False),
        ("smaller_first", 11, False),
        ("larger_first", 9, False),
        ("larger_first", 10, False),
        ("larger_first", 11, True),
        ("none", 9, False),
        ("none", 11, False),
    ],
)
def test_a_priority_is_beyond_a_limit_if_it_is_more_urgent(
    order: Any, priority: int, expected: bool
) -> None:
    assert is_beyond(priority, 10, order) is expected
    assert (urgency(1, "smaller_first"), urgency(1, "larger_first")) == (1, -1)


def test_a_place_between_neighbours_lies_strictly_between_them() -> None:
    assert between(1, 2) == Decimal("1.5")
    assert between(Decimal("1.5"), 2) == Decimal("1.75")
    assert (between(7, None), between(None, 7), between(None, 0)) == (8, 6, -1)
    for ahead, behind in ((3, 3), (4, 3)):
        with pytest.raises(ValueError, match="no room between two neighbours"):
            between(ahead, behind)
    with pytest.raises(ValueError, match="needs a neighbour"):
        between(None, None)


def test_a_simulated_workload_of_nothing_uses_nothing() -> None:
    nothing = simulate([], agents_of([(1, 4)]), Rules())
    assert (nothing.makespan_s, nothing.utilisation, nothing.plans) == (0.0, 0.0, 0)
    one = SimTask(id="a", job_id="j", slots=0, arrives_s=0, runs_s=5)
    assert simulate([one], agents_of([(1, 0)]), Rules()).utilisation == 0.0


def test_half_of_a_cluster_in_use_is_a_utilisation_of_one_half() -> None:
    tasks = [SimTask(id="a", job_id="j", slots=2, arrives_s=0, runs_s=10)]
    assert simulate(tasks, agents_of([(1, 4)]), Rules()).utilisation == 0.5
    late = SimTask(id="b", job_id="k", slots=1, arrives_s=20, runs_s=1)
    stopped = simulate([*tasks, late], agents_of([(1, 4)]), Rules(), until_s=15)
    assert (stopped.makespan_s, stopped.utilisation) == (10.0, 0.5)


def test_a_simulated_job_keeps_its_age_and_its_limit() -> None:
    """The job that was submitted first goes first, whenever its tasks arrive."""
    first = SimTask(id="a", job_id="a", slots=4, arrives_s=0, runs_s=10)
    young = SimTask(id="b", job_id="b", slots=4, arrives_s=1, runs_s=10)
    old = SimTask(id="c", job_id="c", slots=4, arrives_s=2, runs_s=10, submitted_s=-1)
    result = simulate([first, young, old], agents_of([(1, 4)]), Rules())
    assert [(t.id, t.started_s) for t in result.tasks] == [("a", 0), ("b", 20), ("c", 10)]
    pair = [SimTask(id=i, job_id="j", slots=2, arrives_s=0, runs_s=5, max_slots=2) for i in "ab"]
    limited = simulate(pair, agents_of([(1, 4)]), Rules())
    assert [t.started_s for t in limited.tasks] == [0.0, 5.0]
