"""When the machines of a pool are listed: often while something is in flight, else rarely.

Each listing is a call that a cloud counts against the whole account. While every machine runs and
its agent is connected, nothing can change that the agents would not show first: a machine that
somebody ends in the cloud takes its agent with it.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from determined_master.domain.machines.controller.controller_state import (
    ControllerState,
    launch_count,
)
from determined_master.domain.machines.observations import PoolObserved
from determined_master.domain.machines.scaling import scale

IN_FLIGHT = timedelta(seconds=5)
AT_REST = timedelta(minutes=1)


class ListingIntervals(msgspec.Struct, frozen=True):
    """The longest times between two listings."""

    in_flight: timedelta = IN_FLIGHT
    at_rest: timedelta = AT_REST


def is_listing_due(
    state: ControllerState,
    pool: PoolObserved,
    now: datetime,
    intervals: ListingIntervals = ListingIntervals(),  # noqa: B008  frozen
) -> bool:
    """Whether to list the machines before anything else is done.

    Machines start and end only by a list of the same tick: somebody else may have started or ended
    machines since the last one. A listing that failed is repeated as in flight, and never sooner.

    Args:
        state: of the controller before this observation.
        pool: observed with the machines of the last listing.
        now: of this observation.
        intervals: of the provider.
    """
    at = state.listing.at
    if at is None:
        return True
    age = now - at
    if state.listing.failure:
        return age >= intervals.in_flight
    if age >= (intervals.in_flight if is_in_flight(pool) else intervals.at_rest):
        return True
    return _acts(state, pool, now)


def is_in_flight(pool: PoolObserved) -> bool:
    """Whether a machine starts, ends, has lost its agent, or may exist without being listed."""
    if pool.leaving or pool.fleet.held or not pool.fleet.is_settled:
        return True
    return any(
        s.machine.state != "running" or s.machine.agent_name not in pool.connected
        for s in pool.seen
    )


def _acts(state: ControllerState, pool: PoolObserved, now: datetime) -> bool:
    """Whether a machine would start or end now, by the last listing."""
    config = state.config
    held = pool.fleet.held
    decided = scale(pool.seen, pool.desired, config.limits, state.clocks, now, held=held)
    if decided.endings:
        return True
    may_launch = state.backoff.may_launch(config.patience, now)
    return may_launch and launch_count(state, decided.launch, now) > 0
