"""Decides about the machines of one pool: a state and an observation give actions.

One tick is a sequence of observations, each after the actions of the one before: MachinesListed,
PoolObserved, AgentsCordoned, MachinesEnded, LaunchDue, LaunchesDone, and TickEnded. A tick without
a listing (`listing.py`) starts and ends nothing: it leaves out the first, and the three in the
middle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import assert_never

from msgspec.structs import replace

from determined_master.domain.machines import observations
from determined_master.domain.machines.controller.controller_state import (
    ACTIVE,
    ControllerState,
    Listing,
    current_failure,
    launch_count,
    status_of,
)
from determined_master.domain.machines.controller.join_tracker import (
    JoinTracker,
    restart_pause,
    track_launch,
    track_look,
)
from determined_master.domain.machines.controller.launch_backoff import (
    LaunchBackoff,
    back_off,
)
from determined_master.domain.machines.observations import (
    Action,
    CordonAgents,
    EndMachines,
    FindTasks,
    LaunchMachines,
    NoteIdleTimes,
    Observation,
    RefuseRequest,
    SettleLaunches,
    SpareMachine,
    WriteLog,
)
from determined_master.domain.machines.scaling import (
    Clocks,
    Ending,
    scale,
)
from determined_master.domain.machines.starts import MachineStart
from determined_master.domain.schedule.view import RequestView

REFUSED_AT_ONCE = 200

Step = tuple[ControllerState, list[Action]]


def step(state: ControllerState, observation: Observation, now: datetime) -> Step:
    """Advance by one observation.

    Actions are carried out in order. A launch never makes more than `max_machines`, and a machine
    with an agent that runs something is never ended.
    """
    match observation:
        case observations.LeadBegun():
            return _begin_lead(state, observation)
        case observations.ClockJumped():
            return _restart_clocks(state, now)
        case observations.MachinesListed(unlisted=unlisted, failure=failure):
            return _note_unlisted(replace(state, listing=Listing(now, failure)), unlisted, now)
        case observations.PoolObserved():
            return _decide(state, observation, now)
        case observations.AgentsCordoned(busy=busy):
            return state, _end(state, busy)
        case observations.MachinesEnded(leaving=leaving):
            return _cordon(state, state.orphaned | leaving)
        case observations.TickEnded():
            return _end_tick(state, observation)
        case _:
            return _step_launches(state, observation, now)


def _step_launches(
    state: ControllerState,
    observation: observations.LaunchDue
    | observations.LaunchAnswered
    | observations.LaunchesDone
    | observations.TasksFound,
    now: datetime,
) -> Step:
    match observation:
        case observations.LaunchDue(is_settled=is_settled):
            return state, _launch(state, is_settled, now)
        case observations.LaunchAnswered():
            return _note_launch(state, observation, now)
        case observations.LaunchesDone():
            return _finish(state, observation, now)
        case observations.TasksFound(tasks=tasks):
            return _refuse(state, tasks, now)
        case _:
            assert_never(observation)


def _begin_lead(state: ControllerState, lead: observations.LeadBegun) -> Step:
    """Disable the agents of machines whose end an earlier leader has requested."""
    idle_since = dict(lead.idle_since)
    state = replace(
        state,
        clocks=Clocks(idle_since),
        joins=JoinTracker(joined=frozenset(idle_since)),
        backoff=LaunchBackoff(),
        listing=Listing(),
    )
    names = lead.leaving | state.cordoned
    return replace(state, cordoned=names), [CordonAgents(names)] if names else []


def _restart_clocks(state: ControllerState, now: datetime) -> Step:
    """Restart every duration now.

    Otherwise machines would end too early, or none would start after a failure for as long as
    the clock went back.
    """
    state = replace(
        state,
        clocks=Clocks(),
        joins=restart_pause(state.joins, now),
        backoff=LaunchBackoff(),
        listing=Listing(),
    )
    return state, [WriteLog(level="warning", text="the clock has jumped")]


def _note_unlisted(state: ControllerState, unlisted: frozenset[str], now: datetime) -> Step:
    """Count a failed launch: the provider has started a machine and never lists it."""
    count = len(unlisted - state.unlisted)
    state = replace(state, unlisted=unlisted)
    if not count:
        return state, []
    who = "1 machine was" if count == 1 else f"{count} machines were"
    return _note_failure(
        state,
        f"{who} started and never listed: check in the cloud's console whether it ended at once, "
        "or lost the tags or labels that identify it",
        now,
    )


def _decide(state: ControllerState, pool: observations.PoolObserved, now: datetime) -> Step:
    limits = state.config.limits
    held = pool.fleet.held
    decided = scale(pool.seen, pool.desired, limits, state.clocks, now, held=held)
    joins, given_up = track_look(state.joins, pool.seen, decided, limits, now)
    machines = tuple(s.machine for s in pool.seen)
    starts = _starts(pool)
    failed = {id: starts[id] for id in given_up if id in starts and starts[id].has_failed}
    actions = _failed_starts(given_up, failed)
    actions.append(NoteIdleTimes(decided.clocks.idle_since))
    ending, leaving = _agents(decided.endings), frozenset(pool.leaving.values())
    active = {m.agent_name for m in machines if m.state in ACTIVE}
    orphaned = (state.cordoned & pool.present) - (active - ending - leaving)
    state = replace(
        state,
        clocks=decided.clocks,
        joins=joins,
        decided=decided,
        starts=starts,
        failed_start=_last_failure(state, given_up, failed),
        machines=machines,
        leaving=dict(pool.leaving),
        orphaned=orphaned,
    )
    state = replace(state, status=status_of(state, pool.connected, pool.fleet, now))
    names = orphaned | ending | leaving
    if names or state.cordoned:
        state = replace(state, cordoned=names)
        actions.append(CordonAgents(names))
    return state, actions


def _starts(pool: observations.PoolObserved) -> dict[str, MachineStart]:
    """The starts of machines whose agents have not joined."""
    return {s.machine.id: s.start for s in pool.seen if s.start and s.agent == "away"}


def _failed_starts(given_up: Sequence[str], failed: Mapping[str, MachineStart]) -> list[Action]:
    """The log's lines about machines whose agents never joined; `failed` reported the reason."""
    actions: list[Action] = [
        WriteLog(
            level="error",
            text=f"a machine could not start its agent: {start.failure(for_admin=True)}",
            machine=id,
        )
        for id, start in failed.items()
    ]
    if silent := [id for id in given_up if id not in failed]:
        text = (
            "no agent joined from started machines: the cloud's console log has the reason, in "
            "lines that begin with determined:"
        )
        actions.append(WriteLog(level="error", text=text, machines=tuple(silent)))
    return actions


def _last_failure(
    state: ControllerState, given_up: Sequence[str], failed: Mapping[str, MachineStart]
) -> MachineStart | None:
    if not given_up:
        return state.failed_start
    return next(iter(failed.values()), None)


def _agents(endings: Sequence[Ending]) -> frozenset[str]:
    return frozenset(e.machine.agent_name for e in endings)


def _end(state: ControllerState, busy: frozenset[str]) -> list[Action]:
    """End the machines of the decision, unless something has started there in the meantime."""
    spared = [id for id, name in state.leaving.items() if name in busy]
    ending = [e for e in state.decided.endings if e.machine.agent_name not in busy]
    return [
        *(SpareMachine(id) for id in spared),
        *(
            WriteLog(level="info", text=f"a machine is ended: {e.reason}", machine=e.machine.id)
            for e in ending
        ),
        EndMachines(tuple(e.machine for e in ending)),
    ]


def _cordon(state: ControllerState, names: frozenset[str]) -> Step:
    if names == state.cordoned:
        return state, []
    return replace(state, cordoned=names), [CordonAgents(names)]


def _launch(state: ControllerState, is_settled: bool, now: datetime) -> list[Action]:
    if not state.backoff.may_launch(state.config.patience, now):
        return []
    if not is_settled:
        return [SettleLaunches()]
    count = launch_count(state, state.decided.launch, now)
    return [LaunchMachines(count)] if count else []


def _note_launch(
    state: ControllerState, answer: observations.LaunchAnswered, now: datetime
) -> Step:
    if answer.failure:
        return _note_failure(state, answer.failure, now)
    # New machines may fail like the unlisted ones before, so those failures still count.
    backoff = state.backoff if state.unlisted else LaunchBackoff()
    state = replace(
        state,
        backoff=backoff,
        joins=track_launch(state.joins, answer.machines),
        machines=(*state.machines, *answer.machines),
    )
    return state, []


def _note_failure(state: ControllerState, text: str, now: datetime) -> Step:
    backoff, is_logged = back_off(state.backoff, text, state.config.patience, now)
    line = f"no machine could be started; retrying: {text}"
    actions: list[Action] = [WriteLog(level="error", text=line)] if is_logged else []
    return replace(state, backoff=backoff), actions


def _finish(state: ControllerState, done: observations.LaunchesDone, now: datetime) -> Step:
    """Refuse requests that need more machines than there are, while a failure counts."""
    state = replace(state, status=status_of(state, done.connected, done.fleet, now))
    if current_failure(state, now) is None:
        return replace(state, refused_tasks=frozenset()), []
    slots = state.decided.machines * state.config.size.slots
    large = _larger(done.waiting, slots)
    return state, [FindTasks(large)] if large else []


def _larger(waiting: Sequence[RequestView], slots: int) -> tuple[str, ...]:
    return tuple(r.allocation_id for r in waiting if r.slots > slots)[:REFUSED_AT_ONCE]


def _refuse(state: ControllerState, tasks: Mapping[str, str], now: datetime) -> Step:
    if current_failure(state, now) is None:
        return state, []
    # The provider's own text names accounts, roles and networks, and every user may read this one.
    reason = (
        f"no machine could be started for resource pool {state.config.pool}, which has "
        f"{state.decided.machines}; the master's log has the provider's reason, for admins"
    )
    actions: list[Action] = []
    refused = set(state.refused_tasks)
    for allocation_id, task_id in tasks.items():
        if task_id not in refused:
            refused.add(task_id)
            actions.append(RefuseRequest(allocation_id, reason))
    return replace(state, refused_tasks=frozenset(refused)), actions


def _end_tick(state: ControllerState, tick: observations.TickEnded) -> Step:
    """Log a failure unless the last tick failed with the same text."""
    if tick.trouble:
        state = replace(state, status=replace(state.status, trouble=tick.trouble))
    is_new = tick.failure not in ("", state.logged)
    state = replace(state, logged=tick.failure)
    return state, [WriteLog(level="warning", text=tick.failure)] if is_new else []
