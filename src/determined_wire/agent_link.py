"""Messages of the link between a master and its agents.

The agent opens one WebSocket at `/agents`. Frames are binary JSON objects tagged by `kind`. There
is one message stream in each direction, numbered from 1 and acknowledged by number. After a lost
connection both sides send again what the other has not acknowledged, and the receiver drops the
messages that it has already seen.

The agent first sends `Hello`, and the master answers with `Welcome` or `Refused`; no other message
precedes these. The agent's stream is identified by its `boot_id` (new at each start of the
process), the master's stream by its `epoch`: a higher epoch restarts at 1, a lower one is refused.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

PROTOCOL = 1
"""Incremented when a message changes its meaning; both sides refuse another version."""
NO_STORAGE_MARK = ".determined-no-storage"
"""A file in data directories of masters and agents: nothing below is a checkpoint storage."""

MAX_MESSAGE = 4_096
"""Characters of the text of a failure."""
MAX_NUMBER = 2**63 - 1
MAX_TIME_US = 253_402_300_799_999_999
"""The last microsecond of the year 9999."""

Name = Annotated[str, Meta(max_length=255, pattern=r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*\Z")]
"""An id or another text of one line: it becomes a key, a column and a field of a log line."""
Secret = Annotated[str, Meta(max_length=1024)]
Text = Annotated[str, Meta(max_length=65_536)]
"""A text of several lines for users."""
Number = Annotated[int, Meta(ge=0, le=MAX_NUMBER)]
Microseconds = Annotated[int, Meta(ge=0, le=MAX_TIME_US)]
Port = Annotated[int, Meta(ge=0, le=65_535)]
ExitCode = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]

DeviceType = Literal["cuda", "rocm", "cpu"]
ContainerState = Literal["ASSIGNED", "PULLING", "STARTING", "RUNNING", "TERMINATED"]
FailureType = Literal[
    "container_failed",  # ran and ended with an exit code other than 0
    "task_error",  # could not start: image, entry point, files
    "container_aborted",  # was ordered to end before it ran
    "container_ended",  # was ordered to end while it ran, and has no exit code other than 0
    "agent_failed",  # its agent was lost while it ran
    "agent_error",  # the agent could not launch it
    "restore_error",  # was not found after a restart
    "not_placed",  # Kubernetes did not place or start its pod on the planned node
]


class Frozen(msgspec.Struct, frozen=True, omit_defaults=True):
    """Base of the structs inside messages."""


class Message(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="kind", tag=True):
    """Base of all messages."""


class Device(Frozen, frozen=True):
    """One device of an agent, which becomes the slot with the same number."""

    id: Annotated[int, Meta(ge=-MAX_NUMBER, le=MAX_NUMBER)]
    brand: Name
    uuid: Name
    type: DeviceType


class OutOfMemory(Frozen, frozen=True):
    """The kernel killed a process of a container for its memory; 0 for what is not known."""

    limit_bytes: Number = 0
    peak_bytes: Number = 0


class Failure(Frozen, frozen=True):
    """Why a container has failed."""

    type: FailureType
    message: Text
    exit_code: ExitCode | None = None
    out_of_memory: OutOfMemory | None = None
    """By the word of its cgroup or of Docker."""

    def __post_init__(self) -> None:
        """Cut a text that a task or a daemon has made too long; no database keeps its NULs."""
        if len(self.message) > MAX_MESSAGE or "\0" in self.message:
            text = self.message[:MAX_MESSAGE].replace("\0", "\N{REPLACEMENT CHARACTER}")
            msgspec.structs.force_setattr(self, "message", text)


class Address(Frozen, frozen=True):
    """The published address of a container's port."""

    container_ip: Name
    container_port: Port
    host_ip: Name
    host_port: Port


class ContainerReport(Frozen, frozen=True):
    """The state of one container, which may have ended without being acknowledged yet."""

    container_id: Name
    allocation_id: Name
    state: ContainerState
    failure: Failure | None = None
    addresses: Annotated[tuple[Address, ...], Meta(max_length=1024)] = ()
    exit_code: ExitCode | None = None


class Mount(Frozen, frozen=True):
    """A host path that is mounted into the container."""

    host_path: str
    container_path: str
    read_only: bool = False
    propagation: str = "rprivate"
    if_missing: Literal["", "create", "fail", "skip"] = ""
    """Of a storage's directory. It is empty for other mounts, and from older masters."""


class File(Frozen, frozen=True):
    """A file that is written before the start; `path` is absolute inside the container."""

    path: str
    content: bytes
    mode: int = 0o644
    is_root_owned: bool = False


class TaskUser(Frozen, frozen=True):
    """The user that the task runs as."""

    user: str = "root"
    uid: int = 0
    group: str = "root"
    gid: int = 0


class RegistryAuth(Frozen, frozen=True):
    """Credentials for pulling an image."""

    username: str = ""
    password: str = ""
    server_address: str = ""
    identity_token: str = ""


class ContainerSpec(Frozen, frozen=True):
    """The specification of one container of a task."""

    task_id: str
    task_type: str
    description: str
    entrypoint: tuple[str, ...]
    environment: dict[str, str]
    work_dir: str
    user: TaskUser = TaskUser()
    image: str = ""
    force_pull_image: bool = False
    registry_auth: RegistryAuth | None = None
    files: tuple[File, ...] = ()
    mounts: tuple[Mount, ...] = ()
    host_roots: tuple[str, ...] | None = None
    """Directories below which the mounts must really be; None for all."""
    allow_root: bool = True
    """Whether its processes may become root of the container."""
    ports: tuple[int, ...] = ()
    network_mode: str = "bridge"
    shm_size_bytes: int | None = None
    add_capabilities: tuple[str, ...] = ()
    drop_capabilities: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    """Extra host devices as `HOST:CONTAINER:MODE`."""


class LogSpan(Frozen, frozen=True, array_like=True):
    """Consecutive lines of a batch with the same stream and time."""

    count: Annotated[int, Meta(ge=1, le=MAX_NUMBER)]
    at_us: Microseconds
    """Microseconds since 1970-01-01T00:00:00Z."""
    stdtype: Literal["stdout", "stderr"] = "stdout"
    source: Literal["task", "agent"] = "task"
    """`agent`: a note of the agent about the task."""


# Agent to master -------------------------------------------------------------------------


class Hello(Message, frozen=True, tag="hello"):
    """First frame of an agent."""

    protocol: Number
    agent_id: Name
    boot_id: Name
    version: Name
    resource_pool: Name
    hostname: Name
    devices: Annotated[tuple[Device, ...], Meta(max_length=65_536)]
    containers: Annotated[tuple[ContainerReport, ...], Meta(max_length=65_536)] = ()
    join_token: Secret = ""
    key: Secret = ""
    """The agent's own. A join token admits an agent once, then its key does."""
    runtime: Name = "docker"
    acknowledged_epoch: Number = 0
    """Highest epoch of a master this agent has obeyed; a lower master is refused."""
    acknowledged: Number = 0
    """Number of the last message received in the stream of that epoch."""
    cluster_id: Name = ""
    """The cluster of that epoch; epochs of different clusters cannot be compared."""
    address: Name = ""
    """Address at which other machines reach this one; empty for that of the connection."""
    sent_at_us: Microseconds = 0
    """The agent's clock, in microseconds since 1970-01-01T00:00:00Z; 0 if unknown."""
    account: Name = ""
    """The user of its machine that all of its tasks run as; empty if each task has its own."""


class ContainerChanged(Message, frozen=True, tag="container_changed"):
    """A container has changed its state."""

    number: Number
    report: ContainerReport


class LogBatch(Message, frozen=True, tag="log_batch"):
    """Output of one container, in order; acknowledged by `LogStored`, not by number.

    Lines are numbered from 1 across both streams and the agent's notes; the master stores each
    number once. They are sent as one text, which costs a hundredth of one object per line. A
    batch has about 512 KiB or 4,000 lines (a single read is not split), and a container has at
    most 4 unacknowledged batches.
    """

    container_id: Name
    allocation_id: Name
    task_id: Name
    first_seq: Number
    """Number of the first line; of the next line if there is none."""
    text: str = ""
    """The lines, joined by line feeds."""
    spans: tuple[LogSpan, ...] = ()
    """Their counts sum to the number of lines; empty if there are none."""
    is_last: bool = False
    """No further line of this container will come."""


class Pong(Message, frozen=True, tag="pong"):
    """Answers `Ping`."""


class MachineEnding(Message, frozen=True, tag="machine_ending"):
    """The agent's machine ends soon: its cloud takes it back. Sent again on each connection."""

    reason: Text


class AgentAck(Message, frozen=True, tag="agent_ack"):
    """The agent has stored or processed the master's messages up to this number."""

    number: Number


# Master to agent -------------------------------------------------------------------------


class Welcome(Message, frozen=True, tag="welcome"):
    """The master accepts the agent.

    `keep` lists the containers that the master expects on this agent; the agent kills all
    others. The master considers an expected container lost if the agent has not reported it.
    """

    protocol: int
    epoch: int
    master_id: str
    cluster_id: str
    cluster_name: str
    version: str
    keep: tuple[str, ...]
    acknowledged: int = 0
    """Number of the last message received in the stream of the agent's boot."""


class Refused(Message, frozen=True, tag="refused"):
    """The master refuses the agent; if `is_final`, the agent does not try again."""

    reason: str
    is_final: bool = False
    unwanted: tuple[str, ...] = ()
    """Containers of the agent that the master has given up; the agent kills them."""


class StartContainer(Message, frozen=True, tag="start_container"):
    """Orders to start a container; an existing one is left unchanged."""

    number: int
    epoch: int
    container_id: str
    allocation_id: str
    slot_ids: tuple[int, ...]
    spec: ContainerSpec


class SignalContainer(Message, frozen=True, tag="signal_container"):
    """Orders to send a signal to a container; 9 kills it reliably."""

    number: int
    epoch: int
    container_id: str
    signal: int
    allocation_id: str = ""
    """Its allocation. An agent that does not know the container reports that it ended before it
    ran, since the master may have given it up before ordering its start."""


class ForgetContainer(Message, frozen=True, tag="forget_container"):
    """Orders to remove a container's files: its end and its last log line are stored."""

    number: int
    epoch: int
    container_id: str


class UnreadableOrder(msgspec.Struct, frozen=True, kw_only=True):
    """The readable part of an order that has another form than the agent expects."""

    kind: str
    number: int
    epoch: int
    container_id: str = ""
    allocation_id: str = ""
    reason: str = ""


def unreadable_order(frame: str | bytes, reason: str) -> UnreadableOrder:
    """The readable part of the order in a frame.

    Raises:
        msgspec.DecodeError: the frame is no order.
    """
    return msgspec.structs.replace(msgspec.json.decode(frame, type=UnreadableOrder), reason=reason)


class LogStored(Message, frozen=True, tag="log_stored"):
    """The master has stored the lines of a container up to `seq`."""

    container_id: str
    seq: int
    is_last: bool = False
    """Whether the last batch is stored."""


class Ping(Message, frozen=True, tag="ping"):
    """Asks for a `Pong`: after a silence, or when another agent uses the same id."""


class MasterAck(Message, frozen=True, tag="master_ack"):
    """The master has committed the agent's messages up to this number."""

    number: int


FromAgent = Hello | ContainerChanged | LogBatch | MachineEnding | AgentAck | Pong
Order = StartContainer | SignalContainer | ForgetContainer
"""The numbered messages of the master's stream."""
FromMaster = Welcome | Refused | Order | LogStored | Ping | MasterAck
