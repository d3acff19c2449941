"""Events, effects and state of an allocation."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Literal

import msgspec

from determined_master.domain.messages import (
    CancelTimer,
    Effect,
    Event,
    GivenUp,
    SetTimer,
    State,
    WriteTaskLog,
)
from determined_master.domain.states import AllocationState
from determined_master.domain.task.cause import FailureCause
from determined_master.domain.task.kinds import TaskType
from determined_master.domain.task.proxy_port import ProxyPort

FailureType = Literal[
    "container_failed",
    "task_error",
    "container_aborted",
    "container_ended",
    "agent_failed",
    "agent_error",
    "restore_error",
    "not_placed",
]
TRANSIENT: frozenset[FailureType] = frozenset(
    {
        "container_aborted",
        "container_ended",
        "agent_failed",
        "agent_error",
        "restore_error",
        "not_placed",
    }
)
"""Failures of the system, not of the task: they never count as a restart."""


KillCause = Literal["daemons", "failure", "leave", "request"]
"""Why containers are ended: the others are done, one of them failed, a preemption could not be
delivered or timed out, or a user requested it."""


class ContainerFailure(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a container ended, unless with exit code 0."""

    type: FailureType
    message: str
    exit_code: int | None = None
    cause: FailureCause | None = None
    """What its program said of it."""


class AllocationOutcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """How an allocation ended.

    `completed`: all containers exited with code 0. `preempted`: they exited after acknowledging
    the request. `killed`: they were ended on request. `failed`: the task's own fault, counted as a
    restart. `lost`: the system's fault, not counted. `refused`: the request can never be met.
    """

    kind: Literal["completed", "preempted", "killed", "failed", "lost", "refused"]
    message: str = ""
    exit_code: int | None = None
    is_failed_start: bool = False
    """Whether an agent could not start one of its containers."""
    cause: FailureCause | None = None
    """Why its program failed."""


class Container(msgspec.Struct, frozen=True, omit_defaults=True):
    """One container of an allocation.

    With the agent resource manager its id is its resources id.
    """

    id: str
    agent_id: str
    slot_ids: tuple[int, ...]
    rank: int
    state: Literal["ASSIGNED", "PULLING", "STARTING", "RUNNING", "TERMINATED"] = "ASSIGNED"
    host_ip: str = ""
    """Address at which the gang's other containers reach it."""
    ports: tuple[tuple[int, int], ...] = ()
    """Pairs of container port and host port."""
    failure: ContainerFailure | None = None
    exit_code: int | None = None
    is_daemon: bool = False
    master_away: str = ""
    """How a process of it fails to reach the master; empty once it has reached it."""
    main_thread: str = ""
    """What a process waits for after the end of its main thread."""


class AllocationRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """The request to the scheduler, and the request's owner."""

    task_id: str
    task_type: TaskType
    name: str
    """The name in log lines, such as `Trial 3 (Experiment 1)`."""
    job_id: str
    pool: str
    slots: int
    submitted_at: datetime
    """When its job was submitted; orders requests of equal priority."""
    is_preemptible: bool = False
    preemption_timeout_s: float = 3600.0
    is_single_node: bool = False
    priority: int = 42
    weight: float = 1.0
    max_slots: int | None = None
    """Most slots of all allocations of its job together."""
    position: Decimal | None = None
    """Of its job in the queue, if a user has moved it."""
    requested_at: datetime | None = None
    """When it started to wait."""
    excluded_agents: tuple[str, ...] = ()
    trial_id: int | None = None
    experiment_id: int | None = None
    user_id: int = 0
    """Its owner, for turns of work; 0 in states of older releases."""
    proxy_ports: tuple[ProxyPort, ...] = ()
    """The ports of its chief's container that the proxy serves."""


class Allocation(State, frozen=True):
    id: str
    request: AllocationRequest
    state: AllocationState = "PENDING"
    containers: tuple[Container, ...] = ()
    """In the order of their ranks."""
    assigned_at: datetime | None = None
    is_long_awaited: bool = False
    """Whether it waited beyond the patience: it is not preempted for exceeding its share, nor for
    requests of equal priority that it passed."""
    is_ready: bool = False
    is_ready_untold: bool = False
    """Its service is ready before its chief is known to run; reported once the chief runs."""
    preempt_reason: str | None = None
    """Set once it is asked to exit."""
    is_preempt_acknowledged: bool = False
    kill_reason: str | None = None
    """Set once its containers are being ended, for any cause."""
    kill_cause: KillCause | None = None
    failure: ContainerFailure | None = None
    """The first failure; later ones are consequences."""
    outcome: AllocationOutcome | None = None
    container_rows: int = 0
    """Number of containers in rows outside the stored state; 0 in memory."""


class AllocationRequested(Event, frozen=True, tag="allocation_requested"):
    """A task asks for slots."""

    allocation_id: str
    request: AllocationRequest


class Placed(msgspec.Struct, frozen=True):
    """One container of an assignment."""

    container_id: str
    agent_id: str
    slot_ids: tuple[int, ...]


class Assigned(Event, frozen=True, tag="assigned"):
    """The scheduler has assigned slots. Refused when the allocation does not wait any more."""

    containers: tuple[Placed, ...]
    """In the order of agent ids: index is rank."""
    at: datetime | None = None
    is_long_awaited: bool = False


class JobTerms(msgspec.Struct, frozen=True, omit_defaults=True):
    """The values of a job that decide its place in the queue."""

    priority: int
    weight: float
    max_slots: int | None = None
    position: Decimal | None = None


class TermsChanged(Event, frozen=True, tag="terms_changed"):
    """A user has changed the place of its job in the queue."""

    terms: JobTerms


class ContainerChanged(Event, frozen=True, tag="container_changed"):
    """A container has reached a state on its agent."""

    container_id: str
    state: Literal["PULLING", "STARTING", "RUNNING", "TERMINATED"]
    host_ip: str = ""
    ports: tuple[tuple[int, int], ...] = ()
    failure: ContainerFailure | None = None
    exit_code: int | None = None
    agent_id: str = ""
    """The sender. It gets the acknowledgement when an unknown container ends."""


class AgentLost(Event, frozen=True, tag="agent_lost"):
    """An agent did not reconnect in time, or reconnected without this container."""

    agent_id: str
    container_ids: tuple[str, ...]
    failure: ContainerFailure


class BecameReady(Event, frozen=True, tag="became_ready"):
    """The task is ready: its rendezvous is complete, or it has reported so."""


class BeganWaiting(Event, frozen=True, tag="began_waiting"):
    """The task reports that it waits for something of its own."""


class DaemonMarked(Event, frozen=True, tag="daemon_marked"):
    """A container reports that it only serves the others."""

    container_id: str


class MasterUnreachable(Event, frozen=True, tag="master_unreachable"):
    """A process of a container gets no answer from the master; its output says so."""

    container_id: str
    reason: str


class MasterReached(Event, frozen=True, tag="master_reached"):
    """It has an answer again."""

    container_id: str


class MainThreadEnded(Event, frozen=True, tag="main_thread_ended"):
    """The main thread of a process has ended, and others keep it running."""

    container_id: str
    reason: str


class PreemptRequested(Event, frozen=True, tag="preempt_requested"):
    """It is asked to save its work and exit."""

    reason: str


class PreemptAcknowledged(Event, frozen=True, tag="preempt_acknowledged"):
    """The task has received the request and will exit."""


class PreemptionExpired(Event, frozen=True, tag="preemption_expired"):
    """It was asked to exit and did not in time."""


class KillRequested(Event, frozen=True, tag="kill_requested"):
    """It is ended at once."""

    reason: str


class KillExpired(Event, frozen=True, tag="kill_expired"):
    """A container is still alive after a kill: end it again."""


class Refused(Event, frozen=True, tag="refused"):
    """The scheduler reports that the request can never be met, or not for now."""

    reason: str
    is_for_now: bool = False
    """It is only the cluster's fault: requesting slots again later may help."""


class AllocationEffectFailed(GivenUp, frozen=True, tag="effect_failed"):
    """An effect was given up after its last retry."""

    container_id: str = ""


AllocationEvent = (
    AllocationRequested
    | Assigned
    | TermsChanged
    | ContainerChanged
    | AgentLost
    | BecameReady
    | BeganWaiting
    | DaemonMarked
    | MasterUnreachable
    | MasterReached
    | MainThreadEnded
    | PreemptRequested
    | PreemptAcknowledged
    | PreemptionExpired
    | KillRequested
    | KillExpired
    | Refused
    | AllocationEffectFailed
)


class StartContainer(Effect, frozen=True, tag="start_container"):
    container_id: str
    agent_id: str
    slot_ids: tuple[int, ...]
    rank: int
    count: int
    """Containers of the gang."""

    @property
    def about(self) -> str | None:
        """The container: containers of a gang do not wait for each other."""
        return self.container_id


class SignalContainer(Effect, frozen=True, tag="signal_container"):
    container_id: str
    agent_id: str
    signal: int = 9

    @property
    def about(self) -> str | None:
        return self.container_id


class ForgetContainer(Effect, frozen=True, tag="forget_container"):
    """Its end is stored: the agent may remove its files."""

    container_id: str
    agent_id: str

    @property
    def about(self) -> str | None:
        return self.container_id


class ReportAllocationEnd(Effect, frozen=True, tag="report_allocation_end"):
    """Report to the owner how it ended, and revoke the allocation's tokens."""

    outcome: AllocationOutcome


AllocationOrder = (
    StartContainer
    | SignalContainer
    | ForgetContainer
    | ReportAllocationEnd
    | SetTimer
    | CancelTimer
)
"""Effects that are stored until they are carried out."""
AllocationEffect = AllocationOrder | WriteTaskLog
