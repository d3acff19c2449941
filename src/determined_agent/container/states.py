"""The states of one container on its agent. PURE: values in, values out."""

from __future__ import annotations

from typing import assert_never

import msgspec
from msgspec.structs import replace

from determined_wire.agent_link import Address, ContainerReport, ContainerState, Failure

SIGKILL = 9
SIGTERM = 15
_ORDER: tuple[ContainerState, ...] = ("ASSIGNED", "PULLING", "STARTING", "RUNNING", "TERMINATED")


class Container(msgspec.Struct, frozen=True, kw_only=True):
    container_id: str
    allocation_id: str
    state: ContainerState = "ASSIGNED"
    addresses: tuple[Address, ...] = ()
    failure: Failure | None = None
    exit_code: int | None = None
    is_aborting: bool = False
    """Ordered to end before it ran."""
    is_output_stored: bool = False
    """The master has stored its last line."""
    is_forgotten: bool = False
    """The master has stored its end, or does not want the container."""

    @property
    def report(self) -> ContainerReport:
        return ContainerReport(
            container_id=self.container_id,
            allocation_id=self.allocation_id,
            state=self.state,
            failure=self.failure,
            addresses=self.addresses,
            exit_code=self.exit_code,
        )


class Event(msgspec.Struct, frozen=True):
    """Base of the events of a container."""


class Progressed(Event, frozen=True):
    state: ContainerState


class Launched(Event, frozen=True):
    """The task's program is running."""

    addresses: tuple[Address, ...] = ()


class SignalOrdered(Event, frozen=True):
    number: int


class Ended(Event, frozen=True):
    """The task's program has ended, or could not be started."""

    exit_code: int | None = None
    failure: Failure | None = None


class LaunchCanceled(Event, frozen=True):
    """The launch was canceled as ordered."""


class OutputStored(Event, frozen=True):
    """The master has stored the last line."""


class ForgetOrdered(Event, frozen=True):
    """The master has stored the end."""


class Unwanted(Event, frozen=True):
    """The master has not listed it among the containers to keep."""


ContainerEvent = (
    Progressed
    | Launched
    | SignalOrdered
    | Ended
    | LaunchCanceled
    | OutputStored
    | ForgetOrdered
    | Unwanted
)


class Effect(msgspec.Struct, frozen=True):
    """Base of the effects of a step."""


class Report(Effect, frozen=True):
    report: ContainerReport


class SendSignal(Effect, frozen=True):
    """Send a signal to the running task; 9 kills all of its processes."""

    number: int


class CancelLaunch(Effect, frozen=True):
    """Cancel the launch in progress."""


class Remove(Effect, frozen=True):
    """Remove everything that is left of it."""


ContainerEffect = Report | SendSignal | CancelLaunch | Remove


def step(state: Container, event: ContainerEvent) -> tuple[Container, list[ContainerEffect]]:
    """Advance one container by one event.

    A container only moves forward. Its files are removed once it has ended, its output is
    stored, and the master has stored its end; these may happen in any order.
    """
    match event:
        case Progressed(state=reached):
            if state.is_aborting or _ORDER.index(reached) <= _ORDER.index(state.state):
                return state, []
            return _reporting(replace(state, state=reached))
        case Launched(addresses=addresses):
            return _launched(state, addresses)
        case SignalOrdered(number=number):
            return _signalled(state, number)
        case Ended(exit_code=exit_code, failure=failure):
            return _ended(state, exit_code, failure)
        case LaunchCanceled():
            return _ended(state, None, Failure("container_aborted", "ended before it ran"))
        case OutputStored():
            return _removing(replace(state, is_output_stored=True))
        case ForgetOrdered():
            return _removing(replace(state, is_forgotten=True))
        case Unwanted():
            if state.is_forgotten:
                return state, []
            forgotten = replace(state, is_forgotten=True)
            if forgotten.state == "TERMINATED":
                return _removing(forgotten)
            return _signalled(forgotten, SIGKILL)
        case _:
            assert_never(event)


def _launched(
    state: Container, addresses: tuple[Address, ...]
) -> tuple[Container, list[ContainerEffect]]:
    if state.state == "TERMINATED":
        return state, []
    after, effects = _reporting(replace(state, state="RUNNING", addresses=addresses))
    if state.is_aborting:
        effects.append(SendSignal(SIGKILL))  # the order to end came too late to cancel the launch
    return after, effects


def _signalled(state: Container, number: int) -> tuple[Container, list[ContainerEffect]]:
    match state.state:
        case "RUNNING":
            return state, [SendSignal(number)]
        case "TERMINATED":
            return state, [Report(state.report)]  # the master may have missed the report
        case _ if number in (SIGTERM, SIGKILL) and not state.is_aborting:
            return replace(state, is_aborting=True), [CancelLaunch()]
        case _:
            return state, []


def _ended(
    state: Container, exit_code: int | None, failure: Failure | None
) -> tuple[Container, list[ContainerEffect]]:
    if state.state == "TERMINATED":
        return state, []
    ended = replace(state, state="TERMINATED", exit_code=exit_code, failure=failure)
    after, effects = _reporting(ended)
    final, more = _removing(after)
    return final, effects + more


def _reporting(state: Container) -> tuple[Container, list[ContainerEffect]]:
    return state, [Report(state.report)]


def _removing(state: Container) -> tuple[Container, list[ContainerEffect]]:
    if state.state == "TERMINATED" and state.is_output_stored and state.is_forgotten:
        return state, [Remove()]
    return state, []
