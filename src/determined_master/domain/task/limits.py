"""An admin's limits on the parts of a machine that containers may use. PURE.

An unset limit allows everything, as in 0.38.1. The admin's own defaults need no permission.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from determined_master.domain.checkpoints.access import is_below
from determined_master.domain.task.containers import ContainerConfig, typed_containers

LIMITS = ("allowed_host_paths", "allowed_capabilities", "allowed_devices", "allow_root")
"""Keys of `task_container_defaults`."""
_LIMIT_OF = {
    "host_path": "allowed_host_paths",
    "device": "allowed_devices",
    "capability": "allowed_capabilities",
    "machine": "allowed_capabilities",
    "root": "allow_root",
}


class MachinePart(msgspec.Struct, frozen=True):
    """A part of the machine that a container asks for."""

    kind: Literal["host_path", "device", "capability", "machine", "root"]
    value: str
    at: str = ""
    """The key of the configuration."""
    container: str = ""
    """The container of a pod spec that asks for it, as JSON."""


class ContainerLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The parts that tasks may use; None for all."""

    allowed_host_paths: Sequence[str] | None = None
    allowed_capabilities: Sequence[str] | None = None
    allowed_devices: Sequence[str] | None = None
    allow_root: bool | None = None
    own: frozenset[tuple[str, str, str]] = frozenset()
    """Kinds, values and containers that the admin's own defaults ask for."""

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
        if need.kind == "root":
            return self.allow_root is not False
        allowed: Sequence[str] | None = getattr(self, _LIMIT_OF[need.kind])
        if allowed is None:
            return True
        if need.kind == "host_path":
            return any(is_below(need.value, path) for path in allowed)
        if need.kind == "capability":
            return need.value in {capability_name(name) for name in allowed}
        return need.value in allowed

    def _remedy(self, need: MachinePart) -> str:
        if need.kind == "root":
            return (
                "link your account to a user of the agents (det user link-with-agent-user), or "
                "ask an admin to set security.default_task or "
                "task_container_defaults.allow_root"
            )
        allowed = ", ".join(getattr(self, _LIMIT_OF[need.kind]) or ()) or "nothing"
        return f"task_container_defaults.{_LIMIT_OF[need.kind]} allows {allowed}"


_TEXTS = {
    "host_path": "the directory {} of the machine is not allowed",
    "device": "the device {} is not allowed",
    "capability": "the capability {} is not allowed",
    "machine": "{} is not allowed",
    "root": "{} as root (uid 0) is not allowed",
}


def _key(need: MachinePart) -> tuple[str, str, str]:
    return need.kind, need.value, need.container


def capability_name(name: str) -> str:
    """The name without its prefix, in capitals."""
    return name.upper().removeprefix("CAP_")


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


def needs_of_pod(pod: Mapping[str, Any] | None) -> Iterator[MachinePart]:
    """The parts that a pod spec asks for, in snake case or in camel case."""
    at = "environment.pod_spec"
    spec = _get(pod, "spec")
    for key in ("hostPID", "hostIPC", "hostNetwork"):
        if _get(spec, key) or _get(spec, f"host_{key[4:].lower()}"):
            yield MachinePart("machine", key, f"{at}.spec.{key}")
    for volume in _items(_get(spec, "volumes")):
        path = _get(_get(volume, "hostPath"), "path")
        if path is not None:
            yield MachinePart("host_path", posixpath.normpath(str(path)), f"{at}.spec.volumes")
    yield from _needs_of_security(_get(spec, "securityContext"), f"{at}.spec.securityContext")
    for key in ("containers", "initContainers", "ephemeralContainers"):
        for container in _items(_get(spec, key)):
            context = _get(container, "securityContext")
            whole = msgspec.json.encode(container, order="deterministic").decode()
            for need in _needs_of_security(context, f"{at}.spec.{key}"):
                yield msgspec.structs.replace(need, container=whole)


def _needs_of_security(context: Any, at: str) -> Iterator[MachinePart]:
    if _get(context, "privileged"):
        yield MachinePart("machine", "privileged", at)
    for name in _items(_get(_get(context, "capabilities"), "add")):
        yield MachinePart("capability", capability_name(str(name)), at)
    if _get(context, "runAsUser") == 0 or _get(context, "runAsNonRoot") is False:
        yield MachinePart("root", "a container", at)


def _get(value: Any, key: str) -> Any:
    """The value of a key in camel case, or in snake case."""
    if not isinstance(value, Mapping):
        return None
    snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in key)
    return value[key] if key in value else value.get(snake)


def _items(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else []
