"""How often machines are listed: a call of a cloud that is not needed is not made."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.domain.builders import T0
from tests.domain.machines.controller.test_controller import after, machine, pool, state

from determined_master.domain.machines import observations
from determined_master.domain.machines.controller.controller_state import ControllerState
from determined_master.domain.machines.controller.listing import is_listing_due
from determined_master.domain.machines.observations import FleetView, PoolObserved
from determined_master.domain.machines.scaling import Seen

SECOND = timedelta(seconds=1)
LISTED = observations.MachinesListed(frozenset())
BUSY = Seen(machine=machine("m"), agent="busy")


def listed(**limits: Any) -> ControllerState:
    return after(state(**limits), LISTED)[0]


def is_due(begun: ControllerState, seen: PoolObserved, seconds: float) -> bool:
    """That long after the last listing."""
    return is_listing_due(begun, seen, T0 + seconds * SECOND)


@pytest.mark.parametrize("seen", [pool(), pool(BUSY)], ids=["empty", "busy"])
def test_while_nothing_changes_machines_are_listed_once_a_minute(seen: PoolObserved) -> None:
    assert not is_due(listed(), seen, 59)
    assert is_due(listed(), seen, 60)


def test_a_leader_lists_first_and_so_does_one_whose_clock_was_set() -> None:
    assert is_due(state(), pool(), 0)
    lead = observations.LeadBegun(leaving=frozenset(), idle_since={})
    assert is_due(after(listed(), lead)[0], pool(), 0)
    assert is_due(after(listed(), observations.ClockJumped())[0], pool(), 0)


AWAY = Seen(machine=machine("m"), agent="away")
IN_FLIGHT = {
    "starts": pool(Seen(machine=machine("m", state="starting"), agent="busy")),
    "without an agent": pool(AWAY),
    "busy without a connection": pool(BUSY, connected=frozenset()),
    "ends": pool(BUSY, leaving={"m": "m"}),
    "may exist": pool(BUSY, fleet=FleetView(held=1)),
    "no answer": pool(BUSY, fleet=FleetView(is_settled=False)),
}


@pytest.mark.parametrize("name", IN_FLIGHT)
def test_while_something_is_in_flight_machines_are_listed_every_five_seconds(name: str) -> None:
    assert not is_due(listed(), IN_FLIGHT[name], 4)
    assert is_due(listed(), IN_FLIGHT[name], 5)


def test_a_launch_lists_first() -> None:
    assert is_due(listed(), pool(desired=1), 0.1)


def test_work_beyond_the_maximum_needs_no_listing() -> None:
    assert not is_due(listed(max_machines=1), pool(BUSY, desired=1), 59)


def test_a_launch_that_pauses_after_a_failure_lists_once_the_pause_is_over() -> None:
    failed = observations.LaunchAnswered(failure="no quota")
    begun, _ = after(state(), LISTED, pool(desired=1), failed)
    assert not is_due(begun, pool(desired=1), 4)
    assert is_due(begun, pool(desired=1), 5)


def test_an_end_lists_first() -> None:
    begun, _ = after(listed(max_idle=timedelta(0)), pool(Seen(machine=machine("m"), agent="idle")))
    assert is_due(begun, pool(Seen(machine=machine("m"), agent="idle")), 0.1)


def test_a_listing_that_failed_is_repeated_after_five_seconds_and_never_sooner() -> None:
    begun, _ = after(state(), observations.MachinesListed(frozenset(), "throttled"))
    assert begun.listing.failure == "throttled"
    assert not is_due(begun, pool(desired=1), 4)
    assert is_due(begun, pool(), 5)
    begun, _ = after(begun, LISTED)
    assert begun.listing.failure == ""
