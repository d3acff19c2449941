"""An admin's limits on the parts of a machine that containers may use. PURE.

An unset limit allows everything, as in 0.38.1. The admin's own defaults need no permission.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from determined_master.domain.checkpoints.access import is_below
from determined_master.domain.task.containers import ContainerConfig, typed_containers
from determined_master.domain.task.pod_parts import (
    Kind,
    MachinePart,
    capability_name,
    needs_of_pod,
)

LIMITS = ("allowed_host_paths", "allowed_capabilities", "allowed_devices", "allow_root")
"""Keys of `task_container_defaults`."""
_LIMIT_OF: dict[Kind, str] = {
    "host_path": "allowed_host_paths",
    "volume": "allowed_host_paths",
    "storage": "allowed_host_paths",
    "device": "allowed_devices",
    "capability": "allowed_capabilities",
    "account": "allow_root",
    "rights": "allow_root",
    "root": "allow_root",
}
"""The limit that decides; every limit forbids the kinds that are not here."""


class ContainerLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The parts that tasks may use; None for all."""

    allowed_host_paths: Sequence[str] | None = None
    allowed_capabilities: Sequence[str] | None = None
    allowed_devices: Sequence[str] | None = None
    allow_root: bool | None = None
    own: frozenset[tuple[str, str, str]] = frozenset()
    """Kinds, values and wholes that the admin's own defaults ask for."""

    @property
    def is_set(self) -> bool:
        """Whether there is any limit."""
        return any(getattr(self, name) not in (None, True) for name in LIMITS)

    @property
    def host_roots(self) -> tuple[str, ...] | None:
        """Directories below which all mounts must be; None for all."""
        if self.allowed_host_paths is None:
            return None
        own = sorted(value for kind, value, _ in self.own if kind == "host_path")
        return (*self.allowed_host_paths, *own)

    def faults(self, needs: Iterable[MachinePart]) -> list[tuple[str, str]]:
        """The needs that are not allowed: key of the configuration and reason."""
        if not self.is_set:
            return []
        return [
            (need.at, f"{_TEXTS[need.kind].format(need.value)}: {self._remedy(need)}")
            for need in needs
            if _key(need) not in self.own and not self._allows(need)
        ]

    def _allows(self, need: MachinePart) -> bool:
        limit = _LIMIT_OF.get(need.kind)
        if limit == "allow_root":
            return self.allow_root is not False
        if limit is None:
            return False
        allowed: Sequence[str] | None = getattr(self, limit)
        if allowed is None:
            return True
        if need.kind == "host_path":
            return any(is_below(need.value, path) for path in allowed)
        if need.kind == "volume":
            return need.value in map(posixpath.normpath, allowed)
        if need.kind == "capability":
            return need.value in {capability_name(name) for name in allowed}
        return need.kind == "device" and need.value in allowed

    def _remedy(self, need: MachinePart) -> str:
        if need.kind == "root":
            return (
                "link your account to a user of the agents (det user link-with-agent-user), or "
                "ask an admin to set security.default_task or "
                "task_container_defaults.allow_root"
            )
        limit = _LIMIT_OF.get(need.kind)
        if need.kind in ("storage", "account", "rights") or limit is None:
            because = f"task_container_defaults.{limit}" if limit else "task_container_defaults"
            return (
                f"{because} forbids it; remove it, or ask an admin to add it to "
                "task_container_defaults.cpu_pod_spec or gpu_pod_spec"
            )
        allowed = ", ".join(getattr(self, limit) or ()) or "nothing"
        way = "; mount one of these and name the rest in subPath" if need.kind == "volume" else ""
        return f"task_container_defaults.{limit} allows {allowed}{way}"


_TEXTS: dict[Kind, str] = {
    "host_path": "the directory {} of the machine is not allowed",
    "volume": "the directory {} of the machine as a volume is not allowed",
    "storage": "the volume {} is not allowed",
    "device": "the device {} is not allowed",
    "capability": "the capability {} is not allowed",
    "machine": "{} is not allowed",
    "account": "{} is not allowed",
    "rights": "{} is not allowed",
    "root": "{} as root (uid 0) is not allowed",
}


def _key(need: MachinePart) -> tuple[str, str, str]:
    return need.kind, need.value, need.whole


def limits_of(
    defaults: Mapping[str, Any], storage: Mapping[str, Any] | None = None
) -> ContainerLimits:
    """The limits in `task_container_defaults`.

    Args:
        defaults: the section in force in a pool.
        storage: the cluster's `checkpoint_storage`.
    """
    environment = {"add_capabilities": defaults.get("add_capabilities")}
    config = {
        "environment": environment,
        "bind_mounts": defaults.get("bind_mounts"),
        "resources": {"devices": defaults.get("devices")},
        "checkpoint_storage": storage,
    }
    own = [*needs_of(typed_containers(config))]
    for key in ("cpu_pod_spec", "gpu_pod_spec", "checkpoint_gc_pod_spec"):
        own += needs_of_pod(defaults.get(key))
    return ContainerLimits(
        allowed_host_paths=defaults.get("allowed_host_paths"),
        allowed_capabilities=defaults.get("allowed_capabilities"),
        allowed_devices=defaults.get("allowed_devices"),
        allow_root=defaults.get("allow_root"),
        own=frozenset(map(_key, own)),
    )


def needs_of(config: ContainerConfig) -> Iterator[MachinePart]:
    """The parts that a task's configuration asks for."""
    for n, mount in enumerate(config.bind_mounts):
        at = f"bind_mounts[{n}].host_path"
        yield MachinePart("host_path", posixpath.normpath(mount.host_path), at)
    if config.shared_directory is not None:
        path = posixpath.normpath(config.shared_directory.host_path)
        yield MachinePart("host_path", path, "checkpoint_storage.host_path")
    for n, device in enumerate(config.devices):
        yield MachinePart("device", device.partition(":")[0], f"resources.devices[{n}]")
    for name in config.add_capabilities:
        yield MachinePart("capability", capability_name(name), "environment.add_capabilities")
    yield from needs_of_pod(config.pod_spec)
