"""The state of a pool's controller, and values that follow from it."""

from __future__ import annotations

from datetime import datetime

import msgspec

from determined_master.domain.machines.controller.join_tracker import JoinTracker, launch_limit
from determined_master.domain.machines.controller.launch_backoff import (
    LaunchBackoff,
    LaunchRetryPolicy,
    standing_failure,
)
from determined_master.domain.machines.cost import Budget, affordable, cost_per_hour, slot_price
from determined_master.domain.machines.observations import FleetView
from determined_master.domain.machines.scaling import Clocks, Limits, Machine, Scaling
from determined_master.domain.machines.starts import MachineStart
from determined_master.domain.machines.status import MachineStatus
from determined_master.domain.schedule.view import Size

ACTIVE = ("starting", "running")
NOTHING = Scaling(launch=0, endings=(), clocks=Clocks(), machines=0, starting=0, idle=0)


class ScalingConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a pool's machines."""

    pool: str
    limits: Limits
    size: Size
    patience: LaunchRetryPolicy = LaunchRetryPolicy()
    budget: Budget | None = None


class Listing(msgspec.Struct, frozen=True):
    """The last request for the list of machines."""

    at: datetime | None = None
    """None for none by this leader, and after the clock was set."""
    failure: str = ""
    """The provider's own text; empty when it answered."""


class ControllerState(msgspec.Struct, frozen=True, kw_only=True):
    """The complete memory of the controller of one pool."""

    config: ScalingConfig
    status: MachineStatus
    """As of the last observation."""
    epoch: int | None = None
    """Of the leadership that has taken over."""
    clocks: Clocks = Clocks()
    joins: JoinTracker = JoinTracker()
    backoff: LaunchBackoff = LaunchBackoff()
    listing: Listing = Listing()
    failed_start: MachineStart | None = None
    """Of the machine that was given up last, if its start script reported why."""
    starts: dict[str, MachineStart] = msgspec.field(default_factory=dict)
    """The last report of each machine whose agent has not joined, as of the current tick."""
    unlisted: frozenset[str] = frozenset()
    """Machines that were started and never listed, as of the last listing."""
    refused_tasks: frozenset[str] = frozenset()
    """Tasks whose log has the current failure: each log gets it once."""
    cordoned: frozenset[str] = frozenset()
    """Agents on which nothing new may start."""
    logged: str = ""
    """The last warning, until a tick succeeds."""
    decided: Scaling = NOTHING
    """The decision of the current tick."""
    machines: tuple[Machine, ...] = ()
    """The machines of the current tick."""
    leaving: dict[str, str] = msgspec.field(default_factory=dict)
    """Agents of the machines that were asked to end, by machine, as of the current tick."""
    orphaned: frozenset[str] = frozenset()
    """Agents that are still present after their machines ended: nothing may start on them."""


def new_state(config: ScalingConfig) -> ControllerState:
    """The state of a pool before the first leader."""
    status = MachineStatus(machines=0, max_machines=config.limits.max_machines)
    return ControllerState(config=config, status=status)


def launch_count(state: ControllerState, wanted: int, now: datetime) -> int:
    """How many of the wanted machines to start now.

    Machines that were started under other settings may cost more than today's, so the budget is
    compared with what they cost.
    """
    count = launch_limit(state.joins, wanted, now)
    budget = state.config.budget
    if budget is None or not count:
        return count
    return affordable(count, cost_per_hour(state.machines) or 0.0, budget.price, budget.limit)


def current_failure(state: ControllerState, now: datetime) -> str | None:
    return standing_failure(state.backoff.errors, state.config.patience, now)


def status_of(
    state: ControllerState, connected: frozenset[str], fleet: FleetView, now: datetime
) -> MachineStatus:
    """The status of the machines, for users who wait for one."""
    starting = _starting(state, connected, now)
    first = min(starting, key=lambda m: m.launched_at, default=None)
    start = state.starts.get(first.id) if first is not None else None
    failure, until = _last_failure(state, fleet, now)
    return MachineStatus(
        machines=state.decided.machines,
        max_machines=state.config.limits.max_machines,
        cost_per_hour=cost_per_hour(state.machines),
        slot_price=slot_price(state.machines, state.config.size.slots),
        budget=_exhausted_budget(state, now),
        starting=len(starting),
        starting_since=first.launched_at if first is not None else None,
        start=start if start is not None and not start.has_failed else None,
        failed_start=state.failed_start if state.joins.silent else None,
        failure=failure,
        tried_again_at=until,
        silent=state.joins.silent,
        paused_until=state.joins.unresponsive.until,
    )


def _starting(state: ControllerState, connected: frozenset[str], now: datetime) -> list[Machine]:
    """The machines whose agents may still join."""
    return [
        m
        for m in state.machines
        if m.state in ACTIVE
        and m.agent_name not in connected
        and now - m.launched_at < state.config.limits.max_starting
    ]


def _last_failure(
    state: ControllerState, fleet: FleetView, now: datetime
) -> tuple[str, datetime | None]:
    """Why the last launch failed, and until when no machine is started for that reason."""
    errors = state.backoff.errors
    if errors is None:
        return "", None
    if current_failure(state, now) is not None:
        return errors.text, errors.at + state.config.patience.timeout
    is_awaited = state.decided.launch or fleet.held or not fleet.is_settled
    return errors.text if is_awaited else "", None


def _exhausted_budget(state: ControllerState, now: datetime) -> str:
    """Why the budget allows no further machine; empty while it does."""
    config = state.config
    if config.budget is None:
        return ""
    is_reached = state.decided.machines >= config.limits.max_machines
    if is_reached and config.limits.max_machines < config.budget.max_instances:
        return config.budget.reason()
    wanted = launch_limit(state.joins, state.decided.launch, now)
    return config.budget.reason() if wanted and not launch_count(state, wanted, now) else ""
