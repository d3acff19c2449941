"""Orders that the master gives to backends, and the notes that they give back."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from determined_master.domain.config.sections.resources import TopologyConfig
from determined_wire.agent_link import ContainerSpec


class PodTerms(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of the pod besides its container, as in the other pods of its task."""

    pool: str = ""
    namespace: str = ""
    """Empty for the cluster's own."""
    job_id: str = ""
    priority: int | None = None
    """Higher is more urgent."""
    rank: int = 0
    pods: int = 1
    """Number of pods of the whole task."""
    secrets: int = 1
    """Number of Secrets of one pod."""
    topology: TopologyConfig | None = None
    """The domain that all pods of the task share."""
    proxy_ports: tuple[int, ...] = ()
    """The task's ports that users reach through the master, in the container of rank 0."""
    pod_spec: Mapping[str, Any] | None = None
    """The users' pod spec, all layers merged."""
    username: str = ""
    workspace: str = ""
    experiment_id: str = ""
    trial_id: str = ""


class LogPlace(msgspec.Struct, frozen=True, kw_only=True):
    """How much of a pod's log is copied, by the times of its lines.

    Times are in microseconds since 1970-01-01T00:00:00Z, 0 for none; lines without a time do not
    count. "First" is first in the log, which is not always the earliest.
    """

    total: int = 0
    first_at_us: int = 0
    last_at_us: int = 0
    """The latest."""
    since_us: int = 0
    """A whole second. The next reading needs no earlier lines."""
    since_count: int = 0
    """Lines of that time and later."""
    since_first_us: int = 0
    """The first of them."""
    next_us: int = 0
    """What `since_us` will be, with the same of it."""
    next_count: int = 0
    next_first_us: int = 0

    @classmethod
    def whole(cls, total: int, first_at_us: int, last_at_us: int) -> LogPlace:
        """A place from which the next reading begins at the first line."""
        return cls(
            total=total,
            first_at_us=first_at_us,
            last_at_us=last_at_us,
            since_count=total,
            since_first_us=first_at_us,
            next_count=total,
            next_first_us=first_at_us,
        )


class StoredOutput(msgspec.Struct, frozen=True, kw_only=True):
    """How much of a container's output is stored."""

    last_seq: int = 0
    place: LogPlace = LogPlace()


class StartOrder(msgspec.Struct, frozen=True, kw_only=True):
    """An order to start a container on an agent."""

    agent_id: str
    container_id: str
    allocation_id: str
    slot_ids: tuple[int, ...]
    spec: ContainerSpec
    pod: PodTerms | None = None
    """For containers that become pods."""


class TaskNote(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a backend for the log of a task."""

    task_id: str
    allocation_id: str
    container_id: str
    agent_id: str
    text: str
    level: str = "INFO"
    key: str = ""
    """Identifies the subject: each key is written once for a task, by whichever master."""
    at: datetime | None = None
    """When it happened (UTC); None for now."""
