"""The controller's inputs and outputs: observations of a pool's machines, and actions on them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

import msgspec

from determined_master.domain.machines.scaling import Machine, Seen
from determined_master.domain.schedule.view import RequestView


class FleetView(msgspec.Struct, frozen=True, kw_only=True):
    """The provider's data of a pool."""

    held: int = 0
    """Machines that may exist and cost besides the listed ones; see `scale`."""
    is_settled: bool = True
    """Whether the result of every launch is known."""


class LeadBegun(msgspec.Struct, frozen=True, kw_only=True):
    """This master leads, and has read the rows of earlier leaders."""

    leaving: frozenset[str]
    """Agents of machines whose end an earlier leader has requested."""
    idle_since: Mapping[str, datetime]
    """By machine."""


class ClockJumped(msgspec.Struct, frozen=True):
    """The clock was set, so earlier instants mean nothing."""


class MachinesListed(msgspec.Struct, frozen=True):
    unlisted: frozenset[str]
    """Machines that were started in the last minutes and never listed."""
    failure: str = ""
    """The provider's own text, if it did not give its list."""


class PoolObserved(msgspec.Struct, frozen=True, kw_only=True):
    """The machines, the agents and the scheduler's last plan."""

    seen: tuple[Seen, ...]
    desired: int
    """Machines that waiting requests would fill; see `demand`."""
    connected: frozenset[str]
    """Agents."""
    present: frozenset[str]
    """Agents, including disconnected ones."""
    leaving: Mapping[str, str]
    """Agents of machines whose end was requested and that are still listed, by machine."""
    fleet: FleetView


class AgentsCordoned(msgspec.Struct, frozen=True):
    """Nothing new starts on the agents of the last `CordonAgents`."""

    busy: frozenset[str]
    """Those of them that run something."""


class MachinesEnded(msgspec.Struct, frozen=True):
    """The provider was asked to end machines."""

    leaving: frozenset[str]
    """Agents of all machines whose end was requested and that are still listed."""


class LaunchDue(msgspec.Struct, frozen=True):
    """Machines have been ended; new ones can be started now."""

    is_settled: bool


class LaunchAnswered(msgspec.Struct, frozen=True, kw_only=True):
    machines: tuple[Machine, ...] = ()
    failure: str = ""
    """Empty for a success."""


class LaunchesDone(msgspec.Struct, frozen=True, kw_only=True):
    """All actions on machines are done."""

    waiting: tuple[RequestView, ...]
    """Requests without a place in the last plan."""
    connected: frozenset[str]
    """Agents."""
    fleet: FleetView


class TasksFound(msgspec.Struct, frozen=True):
    tasks: Mapping[str, str]
    """By allocation; ended allocations are missing."""


class TickEnded(msgspec.Struct, frozen=True):
    """The tick has ended."""

    failure: str = ""
    """The first problem of the tick; empty when everything succeeded."""
    trouble: str = ""
    """The provider's own text, if the provider is the cause."""


Observation = (
    LeadBegun
    | ClockJumped
    | MachinesListed
    | PoolObserved
    | AgentsCordoned
    | MachinesEnded
    | LaunchDue
    | LaunchAnswered
    | LaunchesDone
    | TasksFound
    | TickEnded
)


class WriteLog(msgspec.Struct, frozen=True, kw_only=True):
    level: Literal["info", "warning", "error"]
    text: str
    machine: str = ""
    machines: tuple[str, ...] = ()


class NoteIdleTimes(msgspec.Struct, frozen=True):
    """Store the start of each machine's idle time for the next leader."""

    since: Mapping[str, datetime]


class CordonAgents(msgspec.Struct, frozen=True):
    """Start nothing new on these agents, and allow new work on all others."""

    names: frozenset[str]


class SpareMachine(msgspec.Struct, frozen=True):
    """Do not ask again to end a machine: something runs on it."""

    machine_id: str


class EndMachines(msgspec.Struct, frozen=True):
    """Ask the provider to end machines, including those of earlier requests."""

    machines: tuple[Machine, ...]


class SettleLaunches(msgspec.Struct, frozen=True):
    """Repeat the launches whose results are unknown, with the same tokens."""


class LaunchMachines(msgspec.Struct, frozen=True):
    count: int


class FindTasks(msgspec.Struct, frozen=True):
    allocation_ids: tuple[str, ...]


class RefuseRequest(msgspec.Struct, frozen=True):
    allocation_id: str
    reason: str


Action = (
    WriteLog
    | NoteIdleTimes
    | CordonAgents
    | SpareMachine
    | EndMachines
    | SettleLaunches
    | LaunchMachines
    | FindTasks
    | RefuseRequest
)
