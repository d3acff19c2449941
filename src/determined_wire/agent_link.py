"""Messages of the link between a master and its agents.

One WebSocket at `/agents`, opened by the agent. Frames are binary JSON objects tagged by
`kind`. Two streams run over it, one a direction; each numbers its messages from 1 and is
acknowledged by number, so that after a lost socket both sides send again what the other has
not acknowledged, and the receiver drops what it has already seen.

Opening: the agent sends `Hello`; the master answers `Welcome` or `Refused`, and nothing else
passes before. An agent's stream is named by its `boot_id` (new at each start of the process),
the master's stream by its `epoch`: a higher epoch starts again at 1, a lower one is refused.
"""

from __future__ import annotations

from typing import Literal

import msgspec

PROTOCOL = 1
"""Raised when a message changes its meaning; both sides refuse another number with a reason."""

DeviceType = Literal["cuda", "rocm", "cpu"]
ContainerState = Literal["ASSIGNED", "PULLING", "STARTING", "RUNNING", "TERMINATED"]
FailureType = Literal[
    "container_failed",  # ran and ended with a code other than 0
    "task_error",  # could not start: image, entry point, files
    "container_aborted",  # was told to end before it ran
    "container_ended",  # was told to end while it ran, and tells no exit code other than 0
    "agent_failed",  # its agent went away while it ran
    "agent_error",  # the agent could not launch it
    "restore_error",  # could not be found again after a restart
]


class Frozen(msgspec.Struct, frozen=True, omit_defaults=True):
    """Base of the parts of messages."""


class Message(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="kind", tag=True):
    """Base of all messages."""


class Device(Frozen, frozen=True):
    """One device of an agent; each becomes one slot with the same number."""

    id: int
    brand: str
    uuid: str
    type: DeviceType


class Failure(Frozen, frozen=True):
    """Why a container ended other than by exit code 0."""

    type: FailureType
    message: str
    exit_code: int | None = None


class Address(Frozen, frozen=True):
    """Where a port of a container is reached from outside."""

    container_ip: str
    container_port: int
    host_ip: str
    host_port: int


class ContainerReport(Frozen, frozen=True):
    """What an agent knows of one container, alive or ended and not yet acknowledged."""

    container_id: str
    allocation_id: str
    state: ContainerState
    failure: Failure | None = None
    addresses: tuple[Address, ...] = ()
    exit_code: int | None = None


class Mount(Frozen, frozen=True):
    """A host path seen inside the container."""

    host_path: str
    container_path: str
    read_only: bool = False
    propagation: str = "rprivate"


class File(Frozen, frozen=True):
    """A file put in place before the start; `path` is absolute, as the container sees it."""

    path: str
    content: bytes
    mode: int = 0o644
    is_root_owned: bool = False


class TaskUser(Frozen, frozen=True):
    """Whom the task runs as."""

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
    """All that a runtime needs to start one container of a task."""

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
    ports: tuple[int, ...] = ()
    network_mode: str = "bridge"
    shm_size_bytes: int | None = None
    add_capabilities: tuple[str, ...] = ()
    drop_capabilities: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    """Extra host devices as `HOST:CONTAINER:MODE`."""


class LogSpan(Frozen, frozen=True, array_like=True):
    """Consecutive lines of a batch that came out of one stream at one time."""

    count: int
    at_us: int
    """Microseconds since 1970-01-01T00:00:00Z."""
    stdtype: Literal["stdout", "stderr"] = "stdout"
    source: Literal["task", "agent"] = "task"
    """`agent`: a note of the agent about the task."""


# Agent to master -------------------------------------------------------------------------


class Hello(Message, frozen=True, tag="hello"):
    """First frame of an agent."""

    protocol: int
    agent_id: str
    boot_id: str
    version: str
    resource_pool: str
    hostname: str
    devices: tuple[Device, ...]
    containers: tuple[ContainerReport, ...] = ()
    join_token: str = ""
    runtime: str = "docker"
    acknowledged_epoch: int = 0
    """Highest epoch of a master this agent has obeyed; a lower master is refused."""
    acknowledged: int = 0
    """Number of the last message received in the stream of that epoch."""
    cluster_id: str = ""
    """The cluster whose epoch that is; epochs of another cluster do not compare."""
    address: str = ""
    """Where other machines reach this one; empty leaves it to the master to tell by the socket."""
    sent_at_us: int = 0
    """The agent's clock, in microseconds since 1970-01-01T00:00:00Z; 0 when it does not say."""
    account: str = ""
    """The user of its machine that all of its tasks run as; empty where tasks have users."""


class ContainerChanged(Message, frozen=True, tag="container_changed"):
    """A container has reached another state."""

    number: int
    report: ContainerReport


class LogBatch(Message, frozen=True, tag="log_batch"):
    """Output of one container, in order; acknowledged by `LogStored`, not by number.

    Lines are numbered from 1, both streams together and the agent's notes among them; the
    master stores each number once. They travel as one text, which costs a hundredth of one
    object a line. About 512 KiB or 4,000 lines a batch (what was read at once is not cut), and
    at most 4 batches a container not acknowledged.
    """

    container_id: str
    allocation_id: str
    task_id: str
    first_seq: int
    """Number of the first line; of the next one to come when there is none."""
    text: str = ""
    """The lines, joined by line feeds; none holds one itself."""
    spans: tuple[LogSpan, ...] = ()
    """Their counts sum to the number of lines; empty when there is none."""
    is_last: bool = False
    """No further line of this container will come."""


class Pong(Message, frozen=True, tag="pong"):
    """Answer to `Ping`."""


class AgentAck(Message, frozen=True, tag="agent_ack"):
    """The agent has stored or carried out the master's messages up to this number."""

    number: int


# Master to agent -------------------------------------------------------------------------


class Welcome(Message, frozen=True, tag="welcome"):
    """The agent is in.

    `keep` lists the containers that the master expects on this agent; the agent kills any
    other. An expected container missing from the agent's report is lost: the master ends it.
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
    """The agent may not join; `is_final` tells it not to try again."""

    reason: str
    is_final: bool = False
    unwanted: tuple[str, ...] = ()
    """Of its containers, those that the master has given up: the agent ends them."""


class StartContainer(Message, frozen=True, tag="start_container"):
    """Start a container; a container that is already there is left alone."""

    number: int
    epoch: int
    container_id: str
    allocation_id: str
    slot_ids: tuple[int, ...]
    spec: ContainerSpec


class SignalContainer(Message, frozen=True, tag="signal_container"):
    """Send a signal to a container; 9 ends it for sure."""

    number: int
    epoch: int
    container_id: str
    signal: int
    allocation_id: str = ""
    """Whose it is: an agent that does not know the container reports it as ended before it ran,
    since the master may have given it up before it was ordered."""


class ForgetContainer(Message, frozen=True, tag="forget_container"):
    """The container's end and its last log line are stored: its files may go."""

    number: int
    epoch: int
    container_id: str


class LogStored(Message, frozen=True, tag="log_stored"):
    """The lines of a container up to `seq` are stored."""

    container_id: str
    seq: int
    is_last: bool = False
    """The batch that said it was the last is stored."""


class Ping(Message, frozen=True, tag="ping"):
    """Asks for a `Pong`: sent when nothing came for a while, or another claims the same id."""


class MasterAck(Message, frozen=True, tag="master_ack"):
    """The master has committed the agent's messages up to this number."""

    number: int


FromAgent = Hello | ContainerChanged | LogBatch | AgentAck | Pong
Order = StartContainer | SignalContainer | ForgetContainer
"""What is numbered in the master's stream."""
FromMaster = Welcome | Refused | Order | LogStored | Ping | MasterAck
