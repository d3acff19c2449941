"""The controller of a pool's machines: observations in, actions out."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.domain.builders import T0

from determined_master.domain.machines import observations
from determined_master.domain.machines.controller.controller import step
from determined_master.domain.machines.controller.controller_state import (
    ControllerState,
    ScalingConfig,
    new_state,
)
from determined_master.domain.machines.controller.launch_backoff import LaunchRetryPolicy
from determined_master.domain.machines.cost import Budget
from determined_master.domain.machines.observations import (
    Action,
    CordonAgents,
    EndMachines,
    FindTasks,
    FleetView,
    LaunchMachines,
    NoteIdleTimes,
    Observation,
    RefuseRequest,
    SettleLaunches,
    SpareMachine,
    WriteLog,
)
from determined_master.domain.machines.scaling import Limits, Machine, Seen
from determined_master.domain.machines.starts import MachineStart
from determined_master.domain.schedule.view import RequestView, Size

MINUTE = timedelta(minutes=1)
NONE: frozenset[str] = frozenset()
SIZE = Size(slots=2, zero_slot_tasks=10, max_machines=5)


def state(patience: LaunchRetryPolicy = LaunchRetryPolicy(), **limits: Any) -> ControllerState:  # noqa: B008  frozen
    return new_state(
        ScalingConfig(pool="gpus", limits=Limits(**limits), size=SIZE, patience=patience)
    )


def machine(id: str, **overrides: Any) -> Machine:
    given = {"agent_name": id, "state": "running", "launched_at": T0 - timedelta(days=1)}
    return Machine(id=id, **{**given, **overrides})


def pool(*seen: Seen, desired: int = 0, **overrides: Any) -> observations.PoolObserved:
    """Every agent that is not away is connected."""
    agents = frozenset(s.machine.agent_name for s in seen if s.agent != "away")
    given = {"connected": agents, "present": agents, "leaving": {}, "fleet": FleetView()}
    return observations.PoolObserved(seen=seen, desired=desired, **{**given, **overrides})


def done(*waiting: RequestView, **fleet: Any) -> observations.LaunchesDone:
    return observations.LaunchesDone(waiting=waiting, connected=NONE, fleet=FleetView(**fleet))


def request(id: str, slots: int) -> RequestView:
    return RequestView(allocation_id=id, job_id=id, slots=slots, submitted_at=T0)


def after(
    before: ControllerState, *seen: Observation, at: timedelta = timedelta(0)
) -> tuple[ControllerState, list[Action]]:
    """The state after several observations, and the actions of the last one."""
    actions: list[Action] = []
    for observation in seen:
        before, actions = step(before, observation, T0 + at)
    return before, actions


def test_a_waiting_request_launches_machines_after_the_endings() -> None:
    looked, actions = after(state(), pool(desired=2))
    assert actions == [NoteIdleTimes({})], "nothing is launched before machines are ended"
    assert after(looked, observations.LaunchDue(is_settled=True))[1] == [LaunchMachines(2)]


def test_a_launch_without_an_answer_is_settled_before_another_begins() -> None:
    looked, _ = after(state(), pool(desired=2))
    assert after(looked, observations.LaunchDue(is_settled=False))[1] == [SettleLaunches()]


def test_launched_machines_count_as_starting() -> None:
    launched = machine("new", state="starting", launched_at=T0)
    answer = observations.LaunchAnswered(machines=(launched,))
    looked, _ = after(state(), pool(desired=1), answer, done())
    assert (looked.status.starting, looked.status.starting_since) == (1, T0)
    assert looked.joins.awaited == {"new"}


def test_an_idle_machine_is_ended_once_nothing_can_start_on_it() -> None:
    idle = Seen(machine=machine("m"), agent="idle")
    looked, _ = after(state(max_idle=MINUTE), pool(idle))
    looked, actions = after(looked, pool(idle), at=2 * MINUTE)
    assert actions == [NoteIdleTimes({"m": T0}), CordonAgents(frozenset({"m"}))]
    _, actions = after(looked, observations.AgentsCordoned(NONE), at=2 * MINUTE)
    line = WriteLog(level="info", text="a machine is ended: long idle", machine="m")
    assert actions == [line, EndMachines((idle.machine,))]


def test_a_machine_that_became_busy_while_it_was_shut_stays_and_opens_again() -> None:
    idle = Seen(machine=machine("m"), agent="idle")
    looked, _ = after(state(max_idle=MINUTE), pool(idle))
    looked, _ = after(looked, pool(idle), at=2 * MINUTE)
    looked, actions = after(looked, observations.AgentsCordoned(frozenset({"m"})), at=2 * MINUTE)
    assert actions == [EndMachines(())]
    looked, actions = after(looked, observations.MachinesEnded(NONE), at=2 * MINUTE)
    assert actions == [CordonAgents(NONE)]
    assert looked.cordoned == NONE


def test_a_leaving_machine_that_runs_something_is_spared() -> None:
    leaving = Seen(machine=machine("m", state="terminating"), agent="busy")
    looked, _ = after(state(), pool(leaving, leaving={"m": "agent"}))
    _, actions = after(looked, observations.AgentsCordoned(frozenset({"agent"})))
    assert actions == [SpareMachine("m"), EndMachines(())]


def test_an_agent_whose_machine_has_ended_stays_shut_until_it_is_gone() -> None:
    cordoned = replace(state(), cordoned=frozenset({"a"}))
    looked, _ = after(cordoned, pool(present=frozenset({"a"})), observations.MachinesEnded(NONE))
    assert looked.cordoned == {"a"}
    assert after(looked, pool())[1] == [NoteIdleTimes({}), CordonAgents(NONE)]


def test_a_lead_shuts_what_earlier_leads_asked_to_end_and_keeps_idle_times() -> None:
    lead = observations.LeadBegun(leaving=frozenset({"a"}), idle_since={"m": T0})
    begun, actions = after(state(), lead)
    assert actions == [CordonAgents(frozenset({"a"}))]
    assert begun.clocks.idle_since == {"m": T0}
    assert begun.joins.joined == {"m"}


def test_after_a_failure_no_launch_is_tried_until_the_pause_has_passed() -> None:
    failed = observations.LaunchAnswered(failure="no quota")
    looked, actions = after(state(), pool(desired=1), failed)
    text = "no machine could be started; retrying: no quota"
    assert actions == [WriteLog(level="error", text=text)]
    due = observations.LaunchDue(is_settled=True)
    assert after(looked, due, at=timedelta(seconds=4))[1] == []
    assert after(looked, due, at=timedelta(seconds=5))[1] == [LaunchMachines(1)]
    assert after(looked, failed, at=9 * MINUTE)[1] == [], "a line each ten minutes"
    assert len(after(looked, failed, at=10 * MINUTE)[1]) == 1


def test_a_clock_that_was_set_ends_a_pause() -> None:
    looked, _ = after(state(), pool(desired=1), observations.LaunchAnswered(failure="no quota"))
    looked, _ = after(looked, observations.ClockJumped(), pool(desired=1), at=-60 * MINUTE)
    due = observations.LaunchDue(is_settled=True)
    assert after(looked, due, at=-60 * MINUTE)[1] == [LaunchMachines(1)]


def test_machines_that_are_never_listed_are_one_failure() -> None:
    looked, actions = after(state(), observations.MachinesListed(frozenset({"m", "n"})))
    [line] = actions
    assert isinstance(line, WriteLog)
    assert "2 machines were started and never listed" in line.text
    assert after(looked, observations.MachinesListed(frozenset({"m", "n"})))[1] == []
    again, _ = after(looked, observations.LaunchAnswered())
    assert again.backoff == looked.backoff, "new machines may fail like those before"


def test_while_a_failure_counts_each_task_that_is_too_large_is_refused_once() -> None:
    here = Seen(machine=machine("m"), agent="busy")
    waiting = done(request("small", 2), request("large", 4), request("gone", 8))
    failed = observations.LaunchAnswered(failure="no quota")
    begun = state(LaunchRetryPolicy(timeout=10 * MINUTE))
    looked, actions = after(begun, pool(here, desired=2), failed, waiting)
    assert actions == [FindTasks(("large", "gone"))]
    found = observations.TasksFound({"large": "task-1"})
    looked, actions = after(looked, found)
    reason = (
        "no machine could be started for resource pool gpus, which has 1; the master's log has "
        "the provider's reason, for admins"
    )
    assert actions == [RefuseRequest("large", reason)]
    assert after(looked, found)[1] == []
    looked, actions = after(looked, waiting, at=11 * MINUTE)
    assert (actions, looked.refused_tasks) == ([], NONE), "the failure does not count any more"


@pytest.mark.parametrize("trouble", ["", "the cloud does not answer"])
def test_the_same_failure_of_two_looks_is_logged_once(trouble: str) -> None:
    ended = observations.TickEnded("it failed", trouble)
    looked, actions = after(state(), ended)
    assert actions == [WriteLog(level="warning", text="it failed")]
    assert looked.status.trouble == trouble
    assert after(looked, ended)[1] == []
    assert after(looked, observations.TickEnded(), ended)[1] == actions


AGENTS = st.sampled_from(("busy", "idle", "away"))
STATES = st.sampled_from(("starting", "running", "stopping", "stopped", "terminating", "unknown"))
MACHINES = st.lists(st.tuples(STATES, AGENTS, st.integers(0, 90), st.booleans()), max_size=8)
LOOKS = st.lists(
    st.tuples(
        MACHINES,
        st.integers(0, 9),  # desired
        st.integers(0, 3),  # held
        st.sets(st.integers(0, 7)),  # machines that become busy while they are shut
        st.sampled_from(("", "no quota")),
        st.integers(0, 1800),  # seconds until the next look
    ),
    min_size=1,
    max_size=6,
)


@pytest.mark.slow
@given(LOOKS, st.integers(0, 6), st.integers(0, 6), st.sampled_from((timedelta(0), 5 * MINUTE)))
def test_no_look_launches_beyond_the_maximum_or_ends_a_busy_machine(
    looks: list[Any], smallest: int, largest: int, timeout: timedelta
) -> None:
    """Nor launches while it rests, nor lets work start on a machine that it ends."""
    now = T0
    limits = Limits(min_machines=smallest, max_machines=largest)
    config = ScalingConfig(
        pool="gpus", limits=limits, size=SIZE, patience=LaunchRetryPolicy(timeout=timeout)
    )
    current = new_state(config)
    for machines, desired, held, becoming_busy, failure, pause_s in looks:
        now += timedelta(seconds=pause_s)
        seen = tuple(
            Seen(
                machine=machine(f"m{i}", state=at, launched_at=now - age * MINUTE),
                agent=agent,
                is_wanted=is_wanted,
            )
            for i, (at, agent, age, is_wanted) in enumerate(machines)
        )
        current, actions = step(
            current, pool(*seen, desired=desired, fleet=FleetView(held=held)), now
        )
        decided = current.decided
        busy = {s.machine.id for s in seen if s.agent == "busy"} | {f"m{i}" for i in becoming_busy}
        current, actions = step(current, observations.AgentsCordoned(frozenset(busy)), now)
        [ended] = [a for a in actions if isinstance(a, EndMachines)]
        ending = {m.id for m in ended.machines}
        assert not ending & busy
        assert ending <= current.cordoned
        resting = current.backoff.retry_at is not None and now < current.backoff.retry_at
        current, actions = step(current, observations.LaunchDue(is_settled=True), now)
        counts = [a.count for a in actions if isinstance(a, LaunchMachines)]
        assert not (counts and resting)
        for count in counts:
            assert count >= 1
            assert decided.machines + held + count <= largest
            current, _ = step(current, observations.LaunchAnswered(failure=failure), now)
        current, _ = step(current, done(held=held), now)
        assert current.status.machines == decided.machines


def reporting(id: str, start: MachineStart) -> Seen:
    new = machine(id, state="starting", launched_at=T0 - MINUTE)
    return Seen(machine=new, agent="away", start=start)


def test_the_step_of_the_first_machine_is_shown_while_it_starts() -> None:
    new, _ = after(state(), pool(reporting("a", MachineStart(step="image")), desired=1))
    assert "1 machine is starting since" in new.status.sentence()
    assert "(it gets the agent's image)" in new.status.sentence()


def test_a_failed_start_is_logged_and_shown_and_followed_by_a_pause() -> None:
    why = MachineStart(step="image", detail="no such host registry.lab", has_failed=True)
    seen = pool(reporting("a", why), desired=1)
    new, actions = after(state(), observations.LaunchDue(True), seen)
    [line] = [a for a in actions if isinstance(a, WriteLog)]
    assert (line.level, line.machine) == ("error", "a")
    assert "cannot be pulled (no such host registry.lab)" in line.text
    sentence = new.status.sentence()
    assert "no agent joined from the last machine: the agent's image cannot be pulled" in sentence
    assert "registry.lab" not in sentence
    assert "registry.lab" in new.status.sentence(for_admin=True)
    _, actions = after(new, observations.LaunchDue(True))
    assert actions == []
    _, actions = after(new, observations.LaunchDue(True), at=6 * MINUTE)
    assert actions == [LaunchMachines(1)]


def test_the_reason_is_forgotten_when_an_agent_joins() -> None:
    why = MachineStart(step="docker", has_failed=True)
    new, _ = after(state(), pool(reporting("a", why), desired=1))
    joined = Seen(machine=machine("b", launched_at=T0), agent="idle")
    new, _ = after(new, pool(joined))
    assert new.status.failed_start is None


def observed(budget: Budget | None, *seen: Seen, desired: int, most: int = 5) -> ControllerState:
    """A pool with that budget after its machines were seen."""
    before = state(max_machines=most)
    before = replace(before, config=replace(before.config, budget=budget))
    return step(before, pool(*seen, desired=desired), T0)[0]


def launched(after: ControllerState) -> list[Action]:
    return step(after, observations.LaunchDue(is_settled=True), T0)[1]


def test_a_budget_stops_launches_beside_machines_of_earlier_settings() -> None:
    dear = Seen(machine=machine("a", price_per_hour=3.0), agent="busy")
    budget = Budget(limit=4.0, price=1.0, max_instances=9)
    after = observed(budget, dear, desired=3)
    assert launched(after) == [LaunchMachines(1)]
    assert after.status.cost_per_hour == 3.0
    assert after.status.budget == ""
    after = observed(replace(budget, limit=3.5), dear, desired=3)
    assert launched(after) == []
    reason = "max_cost_per_hour of 3.5 USD pays for 3 machines of up to 1 USD"
    assert after.status.sentence() == reason
    assert launched(observed(None, dear, desired=3)) == [LaunchMachines(3)]


def test_a_maximum_that_the_budget_sets_is_explained_by_it() -> None:
    mine = [Seen(machine=machine(name, price_per_hour=1.0), agent="busy") for name in "ab"]
    budget = Budget(limit=2.5, price=1.0, max_instances=9)
    text = observed(budget, *mine, desired=1, most=2).status.sentence()
    assert "reached its maximum of 2 machines; max_cost_per_hour of 2.5 USD pays for 2" in text
    text = observed(replace(budget, max_instances=2), *mine, desired=1, most=2).status.sentence()
    assert "max_cost_per_hour" not in text
