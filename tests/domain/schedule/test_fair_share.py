"""The fair share scheduler."""

from datetime import timedelta

import pytest
from tests.covers import covers
from tests.domain.builders import T0, agent, holding, pending

from determined_master.domain.schedule.plan import Plan
from determined_master.domain.schedule.planner import plan
from determined_master.domain.schedule.stages.shares import Share, fill
from determined_master.domain.schedule.view import PoolView, Rules


def view(agents, requests, running=(), after_s=0.0) -> PoolView:
    return PoolView(
        pool="gpus",
        agents=tuple(agents),
        pending=tuple(requests),
        running=tuple(running),
        now=T0 + timedelta(seconds=after_s),
        rules=Rules(type="fair_share"),
    )


def many(job: str, count: int, slots: int = 1, **fields):
    return [pending(f"{job}{n:02}", slots, job_id=job, **fields) for n in range(count)]


def by_job(made: Plan) -> dict[str, int]:
    counts: dict[str, int] = {}
    for start in made.starts:
        counts[start.allocation_id[0]] = counts.get(start.allocation_id[0], 0) + 1
    return counts


def share(job: str, demand: int, weight: float = 1.0, **fields) -> Share:
    return Share(job_id=job, submitted_at=T0, weight=weight, demand=demand, **fields)


@covers(
    "scheduling-and-provisioning b.2.rounds b.2.weight_zero "
    "b.2.example_equal b.2.example_3_1 b.2.example_small"
)
@pytest.mark.parametrize(
    ("weights", "demands", "offers"),
    [
        ((1, 1), (10, 30), (4, 4)),
        ((3, 1), (10, 30), (6, 2)),
        ((10, 30), (3, 7), (2, 6)),
        ((1, 1), (1, 30), (1, 7)),
        ((0, 1), (4, 8), (1, 7)),
    ],
)
def test_eight_slots_are_shared_by_weight_and_demand(weights, demands, offers) -> None:
    made = [share(job, d, w) for job, d, w in zip("AB", demands, weights, strict=True)]
    fill(made, 8)
    assert tuple(s.offered for s in made) == offers


@covers("scheduling-and-provisioning b.2.fixed b.2.credit")
def test_slots_that_cannot_be_given_back_count_as_offered() -> None:
    made = [share("A", 8, fixed=6), share("B", 8)]
    fill(made, 8)
    assert [s.offered for s in made] == [6, 2]
    made = [share("A", 8, fixed=2), share("B", 8)]
    fill(made, 8)
    assert [s.offered for s in made] == [4, 4]


@covers("scheduling-and-provisioning b.2.useless")
def test_an_offer_that_is_of_no_use_goes_to_others() -> None:
    made = [share("A", 8, smallest=8), share("B", 8, smallest=1)]
    fill(made, 8)
    assert [s.offered for s in made] == [0, 8]
    late = T0 + timedelta(seconds=1)
    made = [
        Share(job_id="A", submitted_at=late, weight=1.0, demand=8, smallest=8),
        share("B", 8, smallest=8),
    ]
    fill(made, 8)
    assert [s.offered for s in made] == [0, 8]  # the latest gives way


@covers("scheduling-and-provisioning b.2.order")
def test_jobs_are_served_by_demand_then_by_submission() -> None:
    late = T0 + timedelta(seconds=1)
    made = [
        Share(job_id="A", submitted_at=late, weight=1.0, demand=8),
        share("B", 8),
        share("C", 2),
    ]
    assert [s.job_id for s in fill(made, 7)] == ["C", "B", "A"]
    assert {s.job_id: s.offered for s in made} == {"C": 2, "B": 3, "A": 2}


@covers("scheduling-and-provisioning b.2.total_weight")
def test_a_satisfied_job_no_longer_counts_for_the_shares_of_others() -> None:
    made = [share("A", 2, 2.0), share("B", 10), share("C", 10)]
    fill(made, 12)
    assert [s.offered for s in made] == [2, 6, 4]


@covers("scheduling-and-provisioning b.6.draining b.6.disabled")
@covers("scheduling-and-provisioning b.2.capacity")
def test_used_slots_of_disabled_agents_belong_to_the_pool() -> None:
    claims = [*many("A", 1), *many("B", 8)]
    idle = agent("idle", 8, is_accepting=False)
    # Of a and what is in use on b, 8 slots, A holds its half.
    agents = [agent("a", 4), agent("b", 8, free=4, is_accepting=False), idle]
    held = holding("r", ("b", 4), job_id="A", is_preemptible=False)
    assert by_job(plan(view(agents, claims, [held]))) == {"B": 4}
    # Of the three open slots of a and the one that is shut and in use each has a half.
    agents = [agent("a", 3, shut=(("r", 1),)), idle]
    held = holding("r", ("a", 1), job_id="A", is_preemptible=False)
    assert by_job(plan(view(agents, claims, [held]))) == {"A": 1, "B": 2}


@covers("scheduling-and-provisioning b.2.too_large")
def test_only_requests_that_can_fit_ask_for_machines() -> None:
    running = [holding(f"r{n}", ("a", 1), job_id="B", after_s=n) for n in range(8)]
    full = [agent("a", 8, free=0)]
    made = plan(view(full, [*many("A", 1, 16), *many("B", 8)], running))
    assert made.preemptions == ()
    assert {w.allocation_id: w.code for w in made.waits}["A00"] == "impossible"
    made = plan(view(full, [*many("A", 1, 4), *many("B", 8)], running))
    assert len(made.preemptions) == 4


@covers("scheduling-and-provisioning b.2.start")
def test_a_job_starts_by_age_what_fits_into_its_offer() -> None:
    requests = [
        pending("second", 2, job_id="A", max_slots=2, after_s=1),
        pending("third", 1, job_id="A", max_slots=2, after_s=2),
        pending("first", 1, job_id="A", max_slots=2),
    ]
    made = plan(view([agent("a", 8)], requests))
    assert [s.allocation_id for s in made.starts] == ["first", "third"]
    assert [(w.allocation_id, w.code) for w in made.waits] == [("second", "share")]


@covers("scheduling-and-provisioning b.2.equal")
def test_a_job_that_has_its_share_neither_starts_nor_leaves() -> None:
    running = [holding(f"{job}r{n}", ("a", 1), job_id=job) for job in ("A", "B") for n in range(4)]
    made = plan(view([agent("a", 8, free=0)], [*many("A", 5), *many("B", 5)], running))
    assert (made.starts, made.preemptions) == ((), ())
    assert {w.code for w in made.waits} == {"share"}


def test_jobs_start_their_shares() -> None:
    requests = [*many("A", 10), *many("B", 30, weight=3.0, after_s=1)]
    assert by_job(plan(view([agent("a", 8)], requests))) == {"A": 2, "B": 6}


@covers("scheduling-and-provisioning a.4.max_slots b.2.demand")
def test_max_slots_caps_a_share() -> None:
    requests = [*many("A", 10, max_slots=1), *many("B", 10)]
    assert by_job(plan(view([agent("a", 8)], requests))) == {"A": 1, "B": 7}


@covers("scheduling-and-provisioning b.2.give_back")
def test_a_job_above_its_share_gives_back_its_oldest_task() -> None:
    running = [holding(f"r{n}", ("a", 1), job_id="A", after_s=n) for n in range(8)]
    made = plan(view([agent("a", 8, free=0)], many("B", 8), running))
    assert [p.allocation_id for p in made.preemptions] == ["r0", "r1", "r2", "r3"]
    assert made.starts == ()


def test_tasks_that_cannot_be_preempted_are_not() -> None:
    running = [
        holding("kept", ("a", 4), job_id="A", is_preemptible=False),
        holding("long", ("a", 4), job_id="A", is_long_awaited=True),
    ]
    assert plan(view([agent("a", 8, free=0)], many("B", 8), running)).preemptions == ()


@covers("scheduling-and-provisioning b.2.zero_slots")
def test_tasks_without_slots_take_no_part() -> None:
    requests = [pending("tiny", 0), *many("A", 2, 8)]
    made = plan(view([agent("a", 8)], requests))
    assert [s.allocation_id for s in made.starts] == ["tiny", "A00"]


def test_a_gang_larger_than_its_jobs_share_is_served_after_its_patience() -> None:
    running = [holding(f"r{n}", ("a", 1), job_id="A") for n in range(2)]
    requests = [pending("gang", 8, job_id="G"), *many("A", 8)]
    made = plan(view([agent("a", 8, free=6)], requests, running, after_s=599))
    assert by_job(made) == {"A": 6}
    made = plan(view([agent("a", 8, free=6)], requests, running, after_s=600))
    assert made.starts == ()
    assert {w.allocation_id: w.code for w in made.waits}["gang"] == "kept"
    made = plan(view([agent("a", 8)], requests, after_s=600))
    assert [s.allocation_id for s in made.starts] == ["gang"]
    assert made.starts[0].is_long_awaited


def test_one_that_left_and_comes_back_keeps_its_claim() -> None:
    gone = holding("gone", job_id="A", is_leaving=True, is_gone=True)
    gone = type(gone)(**{**{f: getattr(gone, f) for f in gone.__struct_fields__}, "slots": 4})
    made = plan(view([agent("a", 8)], many("B", 8), [gone]))
    assert by_job(made) == {"B": 4}
