"""What holds for every policy, whatever the pool and its queue."""

from __future__ import annotations

from random import Random

import msgspec
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.covers import covers
from tests.domain.builders import T0, agent, holding, pending

from determined_master.domain.schedule.capacity import drained
from determined_master.domain.schedule.fitting import Demand
from determined_master.domain.schedule.jobs import jobs_of
from determined_master.domain.schedule.ordering import rank
from determined_master.domain.schedule.planner import plan
from determined_master.domain.schedule.simulation.simulate import SimTask, agents_of, simulate
from determined_master.domain.schedule.view import PoolView, Rules

# A history takes milliseconds to play: making a failing one smaller takes minutes.
PLAYED = (Phase.explicit, Phase.reuse, Phase.generate)
RULES = st.builds(
    Rules,
    type=st.sampled_from(["priority", "fair_share"]),
    fitting=st.sampled_from(["best", "worst"]),
    is_heterogeneous=st.booleans(),
    preemption=st.booleans(),
)


@st.composite
def views(draw, rules=RULES) -> PoolView:
    """Pools with tasks that run, leave and wait."""
    free: dict[str, list[int]] = {}
    agents = []
    for name in draw(st.lists(st.sampled_from("abcdef"), unique=True, max_size=6)):
        slots = draw(st.sampled_from([0, 1, 2, 4, 4, 4]))
        shut = draw(st.integers(0, 4)) == 0
        free[name] = list(range(slots))
        agents.append(agent(name, slots, is_accepting=not shut, max_zero_slot_tasks=2))
    running = []
    for n in range(draw(st.integers(0, 8))):
        held = []
        for name in draw(
            st.lists(st.sampled_from(sorted(free) or ["-"]), unique=True, max_size=2)
        ):
            if free.get(name):
                taken = draw(st.integers(1, len(free[name])))
                del free[name][:taken]
                held.append((name, taken))
        if held:
            running.append(
                holding(
                    f"run{n}",
                    *held,
                    job_id=draw(st.sampled_from("JKLMN")),
                    priority=draw(st.sampled_from([10, 42, 42, 60])),
                    is_preemptible=draw(st.integers(0, 3)) > 0,
                    is_leaving=draw(st.integers(0, 3)) == 0,
                    after_s=draw(st.integers(0, 3)),
                )
            )
    agents = [msgspec.structs.replace(a, free_slots=tuple(free[a.id])) for a in agents]
    requests = [
        pending(
            name,
            draw(st.sampled_from([0, 1, 1, 2, 3, 4, 8])),
            after_s=draw(st.integers(0, 3)),
            requested_at=T0 if draw(st.booleans()) else T0.replace(year=2025),
            job_id=draw(st.sampled_from("JKLMN")),
            is_single_node=draw(st.booleans()),
            is_preemptible=draw(st.integers(0, 3)) > 0,
            priority=draw(st.sampled_from([10, 42, 42, 60])),
            max_slots=draw(st.sampled_from([None, None, 8])),
            excluded_agents=draw(st.frozensets(st.sampled_from("abc"), max_size=1)),
        )
        for name in draw(st.lists(st.sampled_from("stuvwxyz"), unique=True, max_size=8))
    ]
    return PoolView(
        pool="p",
        agents=tuple(agents),
        pending=tuple(requests),
        running=tuple(running),
        now=T0,
        rules=draw(rules),
    )


@covers("scheduling-and-provisioning b.1.all_or_nothing b.2.once")
@pytest.mark.slow
@given(views())
@settings(max_examples=150, deadline=None)
def test_a_plan_never_gives_a_slot_twice_or_one_that_is_not_free(view: PoolView) -> None:
    made = plan(view)
    free = {a.id: set(a.free_slots) for a in view.agents}
    aux = {a.id: a.max_zero_slot_tasks - a.zero_slot_tasks for a in view.agents}
    wanted = {r.allocation_id: r for r in view.pending}
    shut = {a.id for a in view.agents if not a.is_accepting}
    for start in made.starts:
        request = wanted[start.allocation_id]
        assert sum(len(slots) for _, slots in start.placement) == request.slots
        assert [a for a, _ in start.placement] == sorted({a for a, _ in start.placement})
        widths = {len(slots) for _, slots in start.placement}
        assert len(widths) == 1 or view.rules.is_heterogeneous
        for agent_id, slots in start.placement:
            assert agent_id not in shut | request.excluded_agents
            assert set(slots) <= free[agent_id]
            free[agent_id] -= set(slots)
            aux[agent_id] -= not slots
            assert aux[agent_id] >= 0 or slots
        assert len(start.placement) == 1 or not request.is_single_node
    decided = [s.allocation_id for s in made.starts] + [w.allocation_id for w in made.waits]
    assert sorted(decided) == sorted(wanted)


@pytest.mark.slow
@given(views())
@settings(max_examples=150, deadline=None)
def test_only_who_can_leave_and_is_behind_is_asked_to(view: PoolView) -> None:
    made = plan(view)
    running = {r.allocation_id: r for r in view.running}
    may_preempt = view.rules.preemption or view.rules.type == "fair_share"
    assert not made.preemptions or may_preempt
    asked = [p.allocation_id for p in made.preemptions]
    assert len(set(asked)) == len(asked)
    for one in made.preemptions:
        victim = running[one.allocation_id]
        assert victim.is_preemptible
        assert not victim.is_leaving
        if one.for_job:
            best = min(rank(r) for r in view.pending if r.job_id == one.for_job)
            assert best < rank(victim)


@pytest.mark.slow
@given(views(st.builds(Rules, preemption=st.booleans())))
@settings(max_examples=150, deadline=None)
def test_backfill_can_be_asked_to_leave_and_starts_only_where_that_is_allowed(view) -> None:
    made = plan(view)
    requests = {r.allocation_id: r for r in view.pending}
    empty = drained(view.agents, view.rules, "slots")
    waiting = [
        requests[w.allocation_id].priority
        for w in made.waits
        if requests[w.allocation_id].slots
        and w.code not in ("limit", "impossible")
        and empty.fit(Demand.of(requests[w.allocation_id]), "")
    ]
    for start in made.starts:
        request = requests[start.allocation_id]
        is_behind = request.slots > 0 and any(p < request.priority for p in waiting)
        assert start.is_backfill is is_behind or request.slots == 0
        if is_behind:
            assert view.rules.preemption
            assert request.is_preemptible


@pytest.mark.slow
@given(views(), st.randoms(use_true_random=False))
@settings(max_examples=150, deadline=None)
def test_the_order_of_a_views_parts_never_changes_the_plan(view: PoolView, random) -> None:
    parts = {}
    for name in ("agents", "pending", "running"):
        parts[name] = list(getattr(view, name))
        random.shuffle(parts[name])
    agents = [
        msgspec.structs.replace(
            a, free_slots=tuple(random.sample(a.free_slots, len(a.free_slots)))
        )
        for a in parts["agents"]
    ]
    shuffled = msgspec.structs.replace(
        view,
        agents=tuple(agents),
        pending=tuple(parts["pending"]),
        running=tuple(parts["running"]),
    )
    assert plan(shuffled) == plan(view)
    jobs = list(jobs_of(shuffled))
    random.shuffle(jobs)
    assert plan(msgspec.structs.replace(shuffled, jobs=tuple(jobs))) == plan(view)


RUNS_S = st.integers(5, 400)


@st.composite
def workloads(draw, runs_s=RUNS_S) -> list[SimTask]:
    tasks = []
    for n in range(draw(st.integers(1, 14))):
        job = draw(st.sampled_from("JKLMN"))
        tasks.append(
            SimTask(
                id=f"t{n:02}",
                job_id=job,
                slots=draw(st.sampled_from([1, 1, 2, 4, 8])),
                arrives_s=draw(st.integers(0, 100)),
                submitted_s=0.0,
                runs_s=draw(runs_s),
                priority={"J": 10, "K": 42, "L": 42, "M": 42, "N": 60}[job],
                weight={"J": 1.0, "K": 3.0}.get(job, 1.0),
                is_preemptible=draw(st.integers(0, 5)) > 0,
                leave_s=draw(st.sampled_from([1.0, 15.0])),
            )
        )
    return tasks


@pytest.mark.slow
@given(workloads(), RULES, st.sampled_from([((2, 4),), ((3, 4), (2, 2)), ((1, 8),)]))
@settings(max_examples=100, deadline=None, phases=PLAYED)
def test_everybody_who_fits_is_served_in_the_end(workload, rules, sizes) -> None:
    agents = agents_of(sizes)
    empty = drained(agents, rules, "slots")
    able = [t for t in workload if empty.fit(Demand(t.slots, False, frozenset()), t.id)]
    done = simulate(able, agents, rules)
    assert [t.id for t in done.tasks if t.ended_s is None] == []


@pytest.mark.slow
@given(workloads(st.just(10**7)), RULES, st.sampled_from([((2, 4),), ((1, 8),), ((4, 2),)]))
@settings(max_examples=150, deadline=None, phases=PLAYED)
def test_in_a_queue_that_does_not_change_no_two_jobs_take_turns(workload, rules, sizes) -> None:
    """Nothing ends here: after the last arrival only the scheduler moves anything."""
    last = max(t.arrives_s for t in workload) + 700.0
    done = simulate(workload, agents_of(sizes), rules, until_s=5_000.0)
    late = [(winner, victim) for at, victim, winner in done.preemptions if at > last]
    for winner, victim in late:
        assert (victim, winner) not in late
    victims = [victim for at, victim, _ in done.preemptions if at > last]
    for victim in set(victims):
        assert victims.count(victim) <= sum(t.job_id == victim for t in workload)


@pytest.mark.slow
@pytest.mark.parametrize("rules", [Rules(), Rules(preemption=True), Rules(type="fair_share")])
def test_a_stream_of_small_tasks_never_starves_a_gang(rules: Rules) -> None:
    gang = SimTask(id="gang", job_id="G", slots=8, arrives_s=5.0, runs_s=60.0)
    small = [
        SimTask(
            id=f"s{n:04}",
            job_id=f"S{n % 3}",
            slots=1,
            arrives_s=n * 2.0,
            runs_s=30.0,
            submitted_s=0.0 if rules.type == "priority" else None,
            is_preemptible=False,
        )
        for n in range(900)
    ]
    done = simulate([gang, *small], agents_of([(2, 4)]), rules)
    [outcome] = [t for t in done.tasks if t.id == "gang"]
    assert outcome.started_s is not None
    assert outcome.started_s <= 5.0 + rules.gang_patience_s + 35.0


@st.composite
def gangs_in_streams(draw) -> tuple[SimTask, list[SimTask], list[tuple[int, int]]]:
    """A gang, small tasks of equals that keep coming for as long as it may wait, and agents."""
    count, size = draw(st.sampled_from([(2, 4), (3, 2), (1, 8), (4, 1)]))
    slots = draw(st.sampled_from([n for n in (2, 4, 8) if n in (size, 2 * size) or n < size]))
    gang = SimTask(
        id="gang",
        job_id="G",
        slots=slots,
        arrives_s=draw(st.integers(0, 20)),
        runs_s=10.0,
    )
    small = []
    at, chance = 0.0, Random(draw(st.integers(0, 2**32)))
    while at < gang.arrives_s + PATIENCE_S + MAX_RUN_S + 10:
        small.append(
            SimTask(
                id=f"s{len(small):04}",
                job_id=chance.choice("ABC"),
                slots=1,
                arrives_s=at,
                submitted_s=0.0,
                runs_s=chance.uniform(5.0, MAX_RUN_S),
                is_preemptible=chance.random() < 0.5,
                leave_s=1.0,
            )
        )
        at += chance.choice((0.5, 1.0, 3.0))
    return gang, small, [(count, size)]


PATIENCE_S = 60.0
MAX_RUN_S = 30.0
PATIENT_RULES = st.builds(
    Rules,
    type=st.sampled_from(["priority", "fair_share"]),
    fitting=st.sampled_from(["best", "worst"]),
    preemption=st.booleans(),
    gang_patience_s=st.just(PATIENCE_S),
)


@pytest.mark.slow
@given(gangs_in_streams(), PATIENT_RULES)
@settings(max_examples=60, deadline=None, phases=PLAYED)
def test_nobody_passes_a_gang_for_longer_than_its_patience(scene, rules: Rules) -> None:
    """After it, the gang waits at most for what runs already."""
    gang, small, sizes = scene
    done = simulate([gang, *small], agents_of(sizes), rules)
    [outcome] = [t for t in done.tasks if t.id == "gang"]
    assert outcome.started_s is not None
    assert outcome.started_s <= gang.arrives_s + PATIENCE_S + MAX_RUN_S + 5.0
