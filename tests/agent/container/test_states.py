"""The states of one container on its agent."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from tests.covers import covers

from determined_agent.container import states
from determined_agent.container.states import (
    CancelLaunch,
    Container,
    Ended,
    ForgetOrdered,
    LaunchCanceled,
    Launched,
    OutputStored,
    Progressed,
    Remove,
    Report,
    SendSignal,
    SignalOrdered,
    Unwanted,
    step,
)
from determined_wire.agent_link import Address, Failure


def container(**overrides: Any) -> Container:
    return Container(**({"container_id": "c", "allocation_id": "a"} | overrides))


def play(
    state: Container, *events: states.ContainerEvent
) -> tuple[Container, list[states.ContainerEffect]]:
    effects: list[states.ContainerEffect] = []
    for event in events:
        state, more = step(state, event)
        effects += more
    return state, effects


def reported(effects: list[states.ContainerEffect]) -> list[str]:
    return [e.report.state for e in effects if isinstance(e, Report)]


@covers("agent-config 5.states")
def test_every_state_is_reported() -> None:
    address = Address("", 1, "", 1)
    state, effects = play(
        container(),
        Progressed("PULLING"),
        Progressed("STARTING"),
        Launched((address,)),
        Ended(exit_code=0),
    )
    assert reported(effects) == ["PULLING", "STARTING", "RUNNING", "TERMINATED"]
    assert (state.exit_code, state.failure, state.addresses) == (0, None, (address,))


def test_a_container_never_returns_to_an_earlier_state() -> None:
    state, effects = play(container(), Progressed("STARTING"), Progressed("PULLING"))
    assert state.state == "STARTING"
    assert reported(effects) == ["STARTING"]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_files_are_removed_once_ended_stored_and_forgotten_in_any_order(
    order: tuple[int, ...],
) -> None:
    events = (Ended(exit_code=0), OutputStored(), ForgetOrdered())
    state, before = play(container(state="RUNNING"), *(events[i] for i in order[:2]))
    assert Remove() not in before
    _, after = play(state, events[order[2]])
    assert after.count(Remove()) == 1


@pytest.mark.parametrize("signal", [9, 15])
@pytest.mark.parametrize("reached", ["ASSIGNED", "PULLING", "STARTING"])
@covers("agent-config 5.failed_aborted")
def test_a_container_ended_before_it_ran_is_aborted(signal: int, reached: Any) -> None:
    state, effects = play(container(state=reached), SignalOrdered(signal), SignalOrdered(signal))
    assert effects == [CancelLaunch()]
    state, effects = play(state, Progressed("STARTING"), LaunchCanceled())
    assert reported(effects) == ["TERMINATED"]
    assert state.failure == Failure("container_aborted", "ended before it ran")


def test_a_launch_that_completes_before_its_cancellation_is_killed() -> None:
    _, effects = play(container(state="STARTING"), SignalOrdered(15), Launched())
    assert effects[-1] == SendSignal(9)


def test_other_signals_before_the_start_are_dropped() -> None:
    assert play(container(state="PULLING"), SignalOrdered(10))[1] == []


def test_a_signal_after_the_end_reports_the_end_again() -> None:
    _, effects = play(container(state="TERMINATED", exit_code=4), SignalOrdered(9))
    assert [e.report.exit_code for e in effects if isinstance(e, Report)] == [4]


def test_an_unwanted_container_is_killed_once_and_removed_after_its_output_is_stored() -> None:
    state, effects = play(container(state="RUNNING"), Unwanted(), Unwanted())
    assert effects == [SendSignal(9)]
    state, effects = play(state, Ended(exit_code=137), Unwanted())
    assert Remove() not in effects
    assert play(state, OutputStored())[1] == [Remove()]


def test_a_second_end_is_ignored() -> None:
    state, effects = play(container(state="RUNNING"), Ended(exit_code=1), Ended(exit_code=2))
    assert state.exit_code == 1
    assert reported(effects) == ["TERMINATED"]
