"""The admin's defaults for all tasks, and for those of one pool."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import msgspec

from determined_master.domain.config.layers import DEFAULT_SHM_BYTES
from determined_master.domain.task.kinds import TASK_KINDS, InteractiveKind
from determined_master.domain.task.limits import ContainerLimits
from determined_wire import agent_link as link


class ContainerDefaults(msgspec.Struct, frozen=True, kw_only=True):
    """The defaults of `task_container_defaults` besides a container's configuration."""

    network_mode: str = "bridge"
    shm_size_bytes: int = DEFAULT_SHM_BYTES
    startup_hook: str = ""
    network_interface: str = ""
    gloo_port_range: str = ""
    limits: ContainerLimits = ContainerLimits()
    has_pods: bool = False
    """Its containers are pods, each with an address of its own."""

    def network_of(self, count: int) -> str:
        """The network mode of containers of a task with `count` containers."""
        return "host" if count > 1 and not self.has_pods else self.network_mode


class TaskDefaults(msgspec.Struct, frozen=True, kw_only=True):
    """The admin's defaults."""

    user: link.TaskUser = link.TaskUser()
    containers: ContainerDefaults = ContainerDefaults()
    """In pools that say nothing else."""
    pools: Mapping[str, ContainerDefaults] = msgspec.field(default_factory=dict)
    """By name, the pool's values over the cluster's."""
    reserved_ports: frozenset[int] = frozenset()
    master_cert_file: str = ""
    """Certificates that the master serves HTTPS with; empty without."""
    created_storage: str = ""
    """Directory of the cluster's own storage, if agents create it."""
    ssh_key_type: str = "ED25519"
    rsa_bits: int = 0

    def of(self, pool: str) -> ContainerDefaults:
        """What containers in a pool get."""
        return self.pools.get(pool, self.containers)


class IdleTimeouts(msgspec.Struct, frozen=True, kw_only=True):
    """How long a task may be unused until it ends, if its configuration does not say."""

    notebook: timedelta | None = None
    tensorboard: timedelta | None = None

    def of(self, kind: InteractiveKind) -> timedelta | None:
        """None forever."""
        found: timedelta | None = getattr(self, TASK_KINDS[kind].word, None)
        return found
