"""The live allocations as each pool's scheduler sees them."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tests.covers import covers
from tests.domain.builders import alloc, assigned, changed, exited, run, running, waiting
from tests.pools.snapshots import snapshot

from determined_master import clock
from determined_master.domain.schedule import reasons
from determined_master.domain.schedule.fitting import Demand
from determined_master.domain.schedule.jobs import jobs_of
from determined_master.domain.schedule.stages.planning import PREEMPTED
from determined_master.domain.schedule.view import Rules, RunningView
from determined_master.pools.agent_backoff import CurrentBackoff
from determined_master.pools.live import LiveAllocations


def live(*states: alloc.Allocation) -> LiveAllocations:
    made = LiveAllocations(lambda pool: None)
    for state in states:
        made.changed(state, 1)
    return made


def test_slots_of_containers_that_are_not_over_are_in_use() -> None:
    seen = live(running("a")).view("default", [snapshot("a")])
    assert [(a.id, a.free_slots) for a in seen.agents] == [("a", (1,))]
    assert [r.slots_by_agent for r in seen.running] == [(("a", 1),)]
    held = live(running("a"))
    state, _ = run(exited("a", 0), state=held.find(running("a").id))
    held.changed(state, 2)
    assert held.view("default", [snapshot("a")]).agents[0].free_slots == (0, 1)


def test_a_trials_states_are_found_without_a_look_at_its_siblings() -> None:
    def of_trial(id: str, trial_id: int) -> alloc.Allocation:
        state = running(id)
        return replace(state, id=id, request=replace(state.request, trial_id=trial_id))

    held = live(*(of_trial(f"a{n}", n) for n in range(100)), of_trial("again", 7))
    assert held.states_of_trial(7) == ["RUNNING", "RUNNING"]
    held._states = Counted(held._states)
    assert held.states_of_trial(8) == ["RUNNING"]
    assert held._states.reads == 1
    held.changed(replace(of_trial("a8", 8), state="TERMINATED"), 2)
    assert held.states_of_trial(8) == []


class Counted(dict[str, alloc.Allocation]):
    """Counts how often it is read."""

    reads = 0

    def __getitem__(self, key: str) -> alloc.Allocation:
        self.reads += 1
        return super().__getitem__(key)


def test_an_allocation_that_ended_during_the_read_does_not_return() -> None:
    held = live(running("a"))
    state, _ = run(exited("a", 0), state=running("a"))
    for table in (held, live()):  # a lead that begins knows of nothing
        known, rows = table.known(), [(running("a"), 1)]
        table.changed(state, 2)
        table.reconcile(known, rows)
        assert table.find(state.id) is None
        table.reconcile(table.known(), rows)
        assert table.find(state.id) is not None


@covers("scheduling-and-provisioning b.6.draining b.6.disabled")
def test_disabled_and_draining_slots_are_not_given_away() -> None:
    agents = [
        snapshot("shut", is_enabled=False),
        snapshot("drains", is_draining=True),
        snapshot("away", is_connected=False),
        snapshot("part", 4, disabled_slots=frozenset({0}), draining_slots=frozenset({1})),
        snapshot("other", pool="other"),
    ]
    seen = {a.id: a for a in live().view("default", agents).agents}
    assert {i: a.is_accepting for i, a in seen.items()} == {
        "shut": False,
        "drains": False,
        "away": False,
        "part": True,
    }
    assert (seen["part"].slots, seen["part"].free_slots) == (2, (2, 3))


@covers("scheduling-and-provisioning b.6.slot_drain")
@pytest.mark.parametrize("switch", ["disabled_slots", "draining_slots"])
def test_a_disabled_slot_in_use_is_shown_with_its_task(switch: str) -> None:
    held = live(running("a"))
    seen = held.view("default", [snapshot("a", 3, **{switch: frozenset({0, 2})})])
    [shut] = seen.agents
    assert (shut.slots, shut.free_slots) == (1, (1,))
    assert shut.shut == ((running("a").id, 1),)
    state, _ = run(exited("a", 0), state=held.find(running("a").id))
    held.changed(state, 2)
    [shut] = held.view("default", [snapshot("a", 3, **{switch: frozenset({0, 2})})]).agents
    assert (shut.slots, shut.free_slots, shut.shut) == (1, (1,), ())


@covers("scheduling-and-provisioning b.6.enabled b.5.aux_restart")
def test_an_agent_that_is_on_has_all_its_slots_and_the_places_of_its_pool_now() -> None:
    aux, _ = run(alloc.Assigned((alloc.Placed("x", "a", ()),)), state=waiting(slots=0))
    held, agents = live(running("a"), replace(aux, id="aux.1")), [snapshot("a", 4)]
    [seen] = held.view("default", agents, max_zero_slot_tasks=100).agents
    assert (seen.slots, seen.free_slots) == (4, (1, 2, 3))
    assert (seen.zero_slot_tasks, seen.max_zero_slot_tasks) == (1, 100)
    [seen] = held.view("default", agents, max_zero_slot_tasks=3).agents
    assert (seen.zero_slot_tasks, seen.max_zero_slot_tasks) == (1, 3)
    assert seen.shut == ()


@covers("scheduling-and-provisioning a.1.end b.1.flagged")
def test_every_input_of_a_scheduler_triggers_a_plan_of_its_pool() -> None:
    nudged: list[str] = []
    held = LiveAllocations(nudged.append)

    def told() -> list[str]:
        names, nudged[:] = list(nudged), []
        return names

    state = waiting(pool="p")
    held.changed(state, 1)
    assert told() == ["p"]
    terms = alloc.TermsChanged(terms=alloc.JobTerms(priority=3, weight=1.0))
    for version, event in enumerate((terms, assigned("a"), exited("a", 0)), 2):
        state, _ = run(event, state=state)
        held.changed(state, version)
        assert told() == ["p"], event
    assert (held.of_job("job"), list(held.jobs())) == ([], [])
    held.changed(waiting(pool="p"), 1)
    told()
    ready, _ = run(assigned("a"), changed("a", "RUNNING"), state=waiting(pool="p"))
    held.changed(ready, 7)
    told()
    held.changed(run(alloc.BecameReady(), state=ready)[0], 8)
    assert told() == []


def test_an_unchanged_part_is_the_same_object() -> None:
    held, agents = live(running("a"), replace(waiting(), id="w.1")), [snapshot("a"), snapshot("b")]
    one, other = held.view("default", agents), held.view("default", agents)
    for part in ("agents", "pending", "running"):
        for before, after in zip(getattr(one, part), getattr(other, part), strict=True):
            assert before is after


def test_a_change_of_terms_reaches_the_queue() -> None:
    held = live(waiting())
    terms = alloc.JobTerms(priority=3, weight=2.0, max_slots=7)
    state, effects = run(alloc.TermsChanged(terms=terms), state=waiting())
    held.changed(state, 2)
    [request] = held.view("default", []).pending
    assert (request.priority, request.weight, request.max_slots) == (3, 2.0, 7)
    assert effects == []


def test_one_that_was_asked_to_leave_is_expected_back() -> None:
    held = live(running("a"))
    left = running("a")
    for event in (
        alloc.PreemptRequested(reason=PREEMPTED),
        alloc.PreemptAcknowledged(),
        exited("a", 0),
    ):
        left, _ = run(event, state=left)
    held.changed(left, 2)
    [gone] = held.view("default", []).running
    assert gone.is_gone
    assert gone.is_returning
    assert gone.slots_by_agent == ()
    [job] = held.view("default", [], Rules(type="fair_share")).jobs or ()
    assert job.running == (gone,)
    held.changed(replace(waiting(), id="next.2"), 1)
    assert held.view("default", []).running == ()


def test_a_preempted_task_returns_unless_a_user_kills_it() -> None:
    def views(*events: alloc.AllocationEvent, reason: str = PREEMPTED) -> list[RunningView]:
        task = running("a", is_single_node=True, excluded_agents=("b",))
        held = live(task)
        state, _ = run(alloc.PreemptRequested(reason=reason), *events, state=task)
        held.changed(state, 2)
        return list(held.view("default", []).running)

    [leaving] = views()
    assert (leaving.is_leaving, leaving.is_returning) == (True, True)
    assert (leaving.is_single_node, leaving.excluded_agents) == (True, frozenset({"b"}))
    [expired] = views(alloc.PreemptionExpired())
    assert expired.is_returning
    [stopped] = views(reason="the experiment was paused")
    assert (stopped.is_leaving, stopped.is_returning) == (True, False)
    kill = alloc.KillRequested(reason="a user")
    [killed] = views(kill)
    assert (killed.is_leaving, killed.is_returning) == (True, False)
    assert views(kill, exited("a", 137)) == []


def test_a_fair_share_pool_has_its_jobs_added_up() -> None:
    asked = waiting().request
    states = [
        running("a"),
        replace(waiting(), id="w.1"),
        replace(running("b"), id="r.1", request=replace(asked, job_id="other")),
    ]
    held, rules = live(*states), Rules(type="fair_share")
    for version, event in enumerate((alloc.PreemptRequested(reason="x"), exited("a", 0)), 2):
        states[0], _ = run(event, state=states[0])
        held.changed(states[0], version)
        view = held.view("default", [snapshot("a")], rules)
        assert view.jobs is not None
        expected = {job.job_id: job for job in jobs_of(replace(view, jobs=None))}
        assert {job.job_id: job for job in view.jobs} == expected
    assert held.view("default", [snapshot("a")]).jobs is None


def test_a_move_to_another_pool_moves_the_request() -> None:
    held = live(waiting())
    state = waiting()
    moved = replace(state, request=replace(state.request, pool="other"))
    held.changed(moved, 2)
    assert held.view("default", []).pending == ()
    assert len(held.view("other", []).pending) == 1
    assert held.of_job("job") == [moved]


def failing(agent: str, id: str) -> alloc.Allocation:
    failure = alloc.ContainerFailure(type="agent_error", message="the disk is full")
    state = replace(running(agent), id=id)
    ended, _ = run(changed(agent, "TERMINATED", failure=failure), state=state)
    return ended


def test_an_agent_that_cannot_start_anything_rests_longer_each_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now_s = 1000.0
    monkeypatch.setattr(clock, "monotonic_s", lambda: now_s)
    held, agents = live(), [snapshot("a"), snapshot("b")]

    def resting() -> list[str]:
        seen = held.view("default", agents).agents
        assert all(a.is_resting is not a.is_accepting for a in seen)
        return [a.id for a in seen if a.is_resting]

    for n, rest_s in enumerate((2, 4, 8, 16)):
        held.changed(failing("a", f"{n}.1"), 1)
        now_s += rest_s - 0.1
        assert resting() == ["a"]
        now_s += 0.2
        assert resting() == []
    for n in range(20):
        held.changed(failing("a", f"{n}.2"), 1)
    now_s += 299
    assert resting() == ["a"]
    assert held.backoff_of("a") == CurrentBackoff(left_s=pytest.approx(1.0), failures=24)
    assert held.backoff_of("b") is None
    now_s += 2
    assert resting() == []


def test_a_running_container_ends_an_agents_back_off() -> None:
    held = live(failing("a", "1.1"))
    assert [a.is_resting for a in held.view("default", [snapshot("a")]).agents] == [True]
    held.changed(running("a"), 1)
    assert [a.is_resting for a in held.view("default", [snapshot("a")]).agents] == [False]


def test_a_job_waiting_for_an_agent_in_back_off_shows_the_reason() -> None:
    held = live(failing("a", "1.1"))
    [seen] = held.view("default", [snapshot("a")]).agents
    said = reasons.impossible(Demand(1, False, frozenset()), "default", [seen])
    assert "on a the last starts failed" in said
    assert "repair or replace" in said


def test_a_tasks_allocations_are_found_until_they_end() -> None:
    held = live(running("a"))
    [state] = held.of_task(running("a").request.task_id)
    assert state == running("a")
    over, _ = run(exited("a", 0), state=state)
    held.changed(over, 2)
    assert held.of_task(state.request.task_id) == []
