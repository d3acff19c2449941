"""Which machines go, and how many are started (scheduling and provisioning, c.2)."""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.covers import covers
from tests.domain.builders import T0

from determined_master.domain.machines.scaling import Clocks, Limits, Machine, Scaling, Seen, scale
from determined_master.domain.machines.starts import MachineStart

E = "scheduling-and-provisioning"
LIMITS = Limits()
MINUTE = timedelta(minutes=1)


def machine(id: str = "m", **overrides: Any) -> Machine:
    """One that has run for a day."""
    given = {"agent_name": id, "state": "running", "launched_at": T0 - timedelta(days=1)}
    return Machine(id=id, **{**given, **overrides})


def busy(id: str = "busy", **overrides: Any) -> Seen:
    return Seen(machine=machine(id, **overrides), agent="busy")


def idle(id: str = "idle", *, is_wanted: bool = False, **overrides: Any) -> Seen:
    return Seen(machine=machine(id, **overrides), agent="idle", is_wanted=is_wanted)


def away(id: str = "away", **overrides: Any) -> Seen:
    return Seen(machine=machine(id, **overrides), agent="away")


def starting(id: str = "new", age: timedelta = MINUTE, **overrides: Any) -> Seen:
    return away(id, state="starting", launched_at=T0 - age, **overrides)


def look(
    *seen: Seen,
    desired: int = 0,
    clocks: Clocks = Clocks(),  # noqa: B008  frozen
    after: timedelta = timedelta(0),
    **limits: Any,
) -> Scaling:
    return scale(seen, desired, Limits(**limits), clocks, T0 + after)


def gone(decided: Scaling) -> dict[str, str]:
    return {ending.machine.id: ending.reason for ending in decided.endings}


@covers(f"{E} c.2.launch")
def test_waiting_requests_get_machines_up_to_the_maximum() -> None:
    assert look(desired=2).launch == 2
    assert look(desired=9).launch == 5
    assert look(busy(), idle(), desired=9).launch == 3
    assert look(desired=9, max_machines=12).launch == 9


@covers(f"{E} c.2.launch")
def test_starting_machines_count_against_the_desired_number() -> None:
    assert look(starting("a"), starting("b"), desired=3).launch == 1
    assert look(starting("a"), starting("b"), desired=1).launch == 0


@covers(f"{E} c.1.free")
def test_an_idle_machine_that_waits_for_the_rest_of_its_gang_counts() -> None:
    assert look(idle(is_wanted=True), starting(), desired=3).launch == 1
    assert look(idle(is_wanted=True), idle("b", is_wanted=True), desired=2).launch == 0
    assert look(idle(), starting(), desired=3).launch == 2
    assert look(busy(), desired=3).launch == 3


@covers(f"{E} c.2.launch")
def test_there_are_at_least_as_many_as_the_minimum_says() -> None:
    assert look(min_machines=2).launch == 2
    assert look(busy(), min_machines=2).launch == 1
    assert look(idle("a"), idle("b"), idle("c"), min_machines=2).launch == 0


@covers(f"{E} c.2.idle c.2.long_idle")
def test_a_machine_that_is_idle_for_too_long_goes() -> None:
    first = look(idle())
    assert gone(first) == {}
    later = look(idle(), clocks=first.clocks, after=20 * MINUTE)
    assert gone(later) == {}
    last = look(idle(), clocks=later.clocks, after=20 * MINUTE + timedelta(seconds=1))
    assert gone(last) == {"idle": "long idle"}


@covers(f"{E} c.2.idle c.2.busy")
def test_work_ends_an_idle_time() -> None:
    first = look(idle("m"))
    between = look(busy("m"), clocks=first.clocks, after=10 * MINUTE)
    again = look(idle("m"), clocks=between.clocks, after=15 * MINUTE)
    assert gone(look(idle("m"), clocks=again.clocks, after=30 * MINUTE)) == {}
    assert gone(look(idle("m"), clocks=again.clocks, after=36 * MINUTE)) == {"m": "long idle"}


@pytest.mark.parametrize("between", [away("m"), starting("m")])
def test_an_idle_time_continues_while_the_agent_is_away(between: Seen) -> None:
    first = look(idle("m"))
    lost = look(between, clocks=first.clocks, after=15 * MINUTE)
    assert gone(lost) == {}
    assert gone(look(idle("m"), clocks=lost.clocks, after=21 * MINUTE)) == {"m": "long idle"}


@covers(f"{E} c.2.long_idle")
def test_idle_machines_stay_down_to_the_minimum_those_that_came_last() -> None:
    clocks = Clocks({"a": T0 - 40 * MINUTE, "b": T0 - 50 * MINUTE, "c": T0 - 30 * MINUTE})
    decided = look(idle("a"), idle("b"), idle("c"), clocks=clocks, min_machines=1)
    assert gone(decided) == {"b": "long idle", "a": "long idle"}


@covers(f"{E} c.2.wanted")
def test_an_idle_machine_stays_while_something_waits_that_might_be_given_it() -> None:
    clocks = Clocks({"a": T0 - 40 * MINUTE, "b": T0 - 50 * MINUTE})
    wanted = idle("a", is_wanted=True), idle("b", is_wanted=True)
    assert gone(look(*wanted, clocks=clocks, desired=2)) == {}
    assert gone(look(*wanted, clocks=clocks, desired=1)) == {"b": "long idle"}
    assert gone(look(idle("a"), idle("b"), clocks=clocks, desired=2)) == {
        "a": "long idle",
        "b": "long idle",
    }


@covers(f"{E} c.2.starting")
def test_a_machine_may_take_its_time_until_its_agent_is_there() -> None:
    first = look(starting(age=19 * MINUTE))
    assert (first.starting, first.clocks.away_since) == (1, {})
    late = look(starting(age=20 * MINUTE))
    assert (late.starting, late.clocks.away_since) == (0, {"new": T0})


@covers(f"{E} c.2.away c.2.long_away")
def test_a_machine_whose_agent_is_away_for_too_long_goes() -> None:
    first = look(away())
    later = look(away(), clocks=first.clocks, after=10 * MINUTE)
    assert gone(later) == {}
    last = look(away(), clocks=later.clocks, after=10 * MINUTE + timedelta(seconds=1))
    assert gone(last) == {"away": "long disconnected"}
    back = look(idle("away"), clocks=later.clocks, after=10 * MINUTE)
    again = look(away(), clocks=back.clocks, after=11 * MINUTE)
    assert gone(look(away(), clocks=again.clocks, after=20 * MINUTE)) == {}


@covers(f"{E} c.2.long_away")
def test_the_minimum_keeps_no_machine_whose_agent_is_away() -> None:
    clocks = Clocks({}, {"away": T0 - 11 * MINUTE})
    decided = look(away(), clocks=clocks, min_machines=1)
    assert gone(decided) == {"away": "long disconnected"}
    assert decided.launch == 1


@covers(f"{E} c.2.returning")
def test_an_agent_that_may_be_back_any_moment_counts_as_one_that_starts() -> None:
    first = look(away(), desired=1)
    assert first.launch == 0
    later = look(away(), desired=1, clocks=first.clocks, after=timedelta(seconds=26))
    assert later.launch == 1


@covers(f"{E} c.2.stopped c.2.stopped_count")
def test_a_stopped_machine_is_ended_and_does_not_count() -> None:
    clocks = Clocks({"a": T0 - 40 * MINUTE, "b": T0 - 30 * MINUTE})
    stopped = Seen(machine=machine("s", state="stopped"), agent="away")
    decided = look(idle("a"), idle("b"), stopped, clocks=clocks, min_machines=1)
    assert gone(decided) == {"s": "stopped", "a": "long idle"}
    assert decided.machines == 2
    full = look(idle("a"), idle("b"), stopped, max_machines=2)
    assert gone(full) == {"s": "stopped"}


@pytest.mark.parametrize("state", ["stopping", "terminating", "unknown"])
@covers(f"{E} c.2.leaving")
def test_an_ending_machine_is_left_alone(state: str) -> None:
    decided = look(away(state=state), desired=1)
    assert (gone(decided), decided.machines, decided.launch) == ({}, 0, 1)


def test_unlisted_machines_that_may_cost_count_towards_the_maximum() -> None:
    decided = scale([busy()], 9, LIMITS, Clocks(), T0, held=2)
    assert (decided.launch, gone(decided)) == (2, {})
    assert scale([busy()], 9, LIMITS, Clocks(), T0, held=7).launch == 0


@covers(f"{E} c.2.too_many")
def test_above_the_maximum_go_idle_then_away_then_the_newest() -> None:
    all_of_them = [
        busy(),
        starting("young", MINUTE),
        starting("younger", timedelta(seconds=1)),
        away(),
        idle("longer"),
        idle("idle"),
    ]
    clocks = Clocks({"longer": T0 - MINUTE})
    order = ["longer", "idle", "away", "younger", "young"]
    for most in range(1, 6):
        decided = look(*all_of_them, clocks=clocks, max_machines=most, desired=9)
        assert list(gone(decided)) == order[: 6 - most]
        assert set(gone(decided).values()) == {"more machines than the maximum"}
        assert decided.launch == 0


@covers(f"{E} c.2.busy")
def test_a_machine_on_which_anything_runs_stays_above_the_maximum() -> None:
    assert gone(look(busy("a"), busy("b"), busy("c"), max_machines=1)) == {}


STATES = st.sampled_from(
    ["starting", "running", "running", "stopping", "stopped", "terminating", "unknown"]
)


@st.composite
def pools(draw: st.DrawFn) -> tuple[list[Seen], int, Limits, Clocks]:
    """Any machines, demand, limits and clocks."""
    seen, idle_since, away_since = [], {}, {}
    for number in range(draw(st.integers(0, 8))):
        id = f"m{number}"
        launched_at = T0 - draw(st.integers(0, 40)) * MINUTE
        one = machine(id, state=draw(STATES), launched_at=launched_at)
        agent = draw(st.sampled_from(["busy", "idle", "away"]))
        seen.append(Seen(machine=one, agent=agent, is_wanted=draw(st.booleans())))
        for clock in (idle_since, away_since):
            if draw(st.booleans()):
                clock[id] = T0 - draw(st.integers(0, 40)) * MINUTE
    least = draw(st.integers(0, 4))
    limits = Limits(min_machines=least, max_machines=draw(st.integers(max(1, least), 8)))
    return seen, draw(st.integers(0, 12)), limits, Clocks(idle_since, away_since)


@pytest.mark.slow
@given(pools(), st.randoms())
def test_no_pool_ends_a_busy_machine_or_exceeds_its_limits(pool: Any, random: Random) -> None:
    seen, desired, limits, clocks = pool
    decided = scale(seen, desired, limits, clocks, T0)
    ended = {ending.machine.id for ending in decided.endings}
    assert len(ended) == len(decided.endings)
    assert not ended & {s.machine.id for s in seen if s.agent == "busy"} - {
        s.machine.id for s in seen if s.machine.state == "stopped"
    }, "no machine that is busy is ever ended"

    counted = [s for s in seen if s.machine.state in ("starting", "running")]
    left = [s for s in counted if s.machine.id not in ended]
    assert len(counted) + decided.launch <= max(limits.max_machines, len(counted))
    room = limits.max_machines - len(counted)
    assert len(left) + decided.launch >= min(limits.min_machines, len(left) + max(room, 0))
    spare = [s for s in left if s.agent != "busy"]
    assert len(left) <= limits.max_machines or not spare

    shuffled = list(seen)
    random.shuffle(shuffled)
    assert scale(shuffled, desired, limits, clocks, T0) == decided


def failed(id: str, agent: Any = "away", **overrides: Any) -> Seen:
    start = MachineStart(step="image", has_failed=True)
    return Seen(machine=machine(id, **overrides), agent=agent, start=start)


def test_a_machine_whose_start_has_failed_is_ended_and_awaited_no_more() -> None:
    decided = look(failed("f"), starting("s"), desired=2)
    assert gone(decided) == {"f": "its start has failed"}
    assert (decided.launch, decided.starting) == (1, 1)


def test_a_failed_start_counts_until_its_machine_is_gone() -> None:
    assert look(failed("f"), desired=2, max_machines=2).launch == 1


def test_a_machine_that_reports_a_failure_and_has_an_agent_stays() -> None:
    assert gone(look(failed("f", agent="busy"), failed("g", agent="idle"))) == {}


def test_a_machine_that_reports_a_step_is_awaited() -> None:
    reported = Seen(machine=starting().machine, agent="away", start=MachineStart(step="docker"))
    decided = look(reported, desired=1)
    assert (decided.launch, decided.starting, gone(decided)) == (0, 1, {})
