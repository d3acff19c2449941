"""The parts of a machine that a pod spec asks for. PURE.

Keys that are known to be harmless ask for nothing. Every other key asks for the machine, also one
of a later release of Kubernetes.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from determined_master.domain.task.pod_keys import MAIN_CONTAINER, camel

Kind = Literal[
    "host_path",
    "volume",
    "storage",
    "device",
    "capability",
    "machine",
    "account",
    "rights",
    "root",
]

_HARMLESS = frozenset((
    "activeDeadlineSeconds", "affinity", "automountServiceAccountToken", "dnsConfig",
    "dnsPolicy", "enableServiceLinks", "hostAliases", "hostname", "imagePullSecrets",
    "nodeName", "nodeSelector", "os", "overhead", "preemptionPolicy", "priority",
    "priorityClassName", "readinessGates", "restartPolicy", "schedulerName", "schedulingGates",
    "serviceAccount", "serviceAccountName", "setHostnameAsFQDN", "shareProcessNamespace",
    "subdomain", "terminationGracePeriodSeconds", "tolerations", "topologySpreadConstraints",
))  # fmt: skip
"""Keys of a pod's spec."""
_HARMLESS_IN_CONTAINERS = frozenset((
    "args", "command", "env", "envFrom", "image", "imagePullPolicy", "name", "resizePolicy",
    "restartPolicy", "stdin", "stdinOnce", "terminationMessagePath",
    "terminationMessagePolicy", "tty", "volumeDevices", "volumeMounts", "workingDir",
))  # fmt: skip
_HARMLESS_FOR_SECURITY = frozenset((
    "fsGroupChangePolicy", "readOnlyRootFilesystem", "supplementalGroupsPolicy",
))  # fmt: skip
_HARMLESS_VOLUMES = frozenset((
    "configMap", "downwardAPI", "emptyDir", "image", "name", "persistentVolumeClaim",
    "projected", "secret",
))  # fmt: skip
_HARMLESS_ANNOTATION = re.compile(
    r"[A-Za-z0-9_-]+|(prometheus\.io|determined\.ai|(cluster-autoscaler|kubectl)\.kubernetes\.io)/.*"
)
"""Other annotations are orders to runtimes, networks and admission controllers."""
_PROBES = frozenset(("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"))
_PROFILES = frozenset(("seccompProfile", "appArmorProfile"))


class MachinePart(msgspec.Struct, frozen=True):
    """A part of the machine that a container asks for."""

    kind: Kind
    value: str
    at: str = ""
    """The key of the configuration."""
    whole: str = ""
    """The container of a pod spec that asks for it, or the value of the key, as JSON."""


def needs_of_pod(pod: Mapping[str, Any] | None) -> Iterator[MachinePart]:
    """The parts that a pod spec asks for, in snake case or in camel case."""
    given, at = camel(pod or {}), "environment.pod_spec"
    for key, value in _map(_map(given.get("metadata")).get("annotations")).items():
        if not _HARMLESS_ANNOTATION.fullmatch(str(key)):
            text = f"the annotation {key}"
            yield MachinePart("machine", text, f"{at}.metadata.annotations", _json(value))
    for key, value in _map(given.get("spec")).items():
        yield from _needs_of_key(key, value, f"{at}.spec.{key}")


def _needs_of_key(key: str, value: Any, at: str) -> Iterator[MachinePart]:
    if key in _HARMLESS or value is None:
        return
    if key in _PARTS:
        yield from _PARTS[key](value, at)
    elif key in ("containers", "initContainers"):
        yield from _needs_of_containers(key, _maps(value), at)
    elif key == "volumes":
        yield from _needs_of_volumes(_maps(value), at)
    elif key == "resourceClaims":
        for claim in _maps(value):
            yield MachinePart("device", f"claim {claim.get('name')}", at, _json(claim))
    elif not (key.startswith("host") and value is False):
        yield MachinePart("machine", key, at, _json(value))


def _needs_of_containers(
    key: str, containers: Sequence[Mapping[str, Any]], at: str
) -> Iterator[MachinePart]:
    for container in containers:
        is_main = key == "containers" and container.get("name") == MAIN_CONTAINER
        whole = "" if is_main else _json(container)
        for need in _needs_of_container(container, at):
            yield msgspec.structs.replace(need, whole=whole)


def _needs_of_volumes(volumes: Sequence[Mapping[str, Any]], at: str) -> Iterator[MachinePart]:
    for key, value in (item for volume in volumes for item in volume.items()):
        if key == "hostPath":
            path = posixpath.normpath(str(_map(value).get("path")))
            yield MachinePart("volume", path, at)
        elif key not in _HARMLESS_VOLUMES and value is not None:
            yield MachinePart("storage", key, at, _json(value))


def _needs_of_container(container: Mapping[str, Any], at: str) -> Iterator[MachinePart]:
    for key, value in container.items():
        if key in _PARTS:
            yield from _PARTS[key](value, at)
        elif key == "ports":
            if any(port.get("hostPort") for port in _maps(value)):
                yield MachinePart("machine", "hostPort", at)
        elif key in _PROBES:
            if _has_host(value):
                yield MachinePart("machine", f"{key} of another host", at)
        elif key not in _HARMLESS_IN_CONTAINERS and value is not None:
            yield MachinePart("machine", key, at)


def _needs_of_security(context: Any, at: str) -> Iterator[MachinePart]:
    for key, value in _map(context).items():
        if _is_harmless(key, value):
            continue
        if key in ("runAsUser", "runAsGroup", "fsGroup", "supplementalGroups"):
            yield from _needs_of_account(key, value, at)
        elif key == "runAsNonRoot":
            yield MachinePart("root", "a container", at)
        elif key == "capabilities":
            for name in _list(_map(value).get("add")):
                yield MachinePart("capability", capability_name(str(name)), at)
        elif key == "allowPrivilegeEscalation":
            yield MachinePart("rights", key, at)
        else:
            yield MachinePart("machine", key, at, _json(value))


def _is_harmless(key: str, value: Any) -> bool:
    """Whether a value of a security context asks for no more than containers have anyway."""
    if key in _HARMLESS_FOR_SECURITY or value is None:
        return True
    if key in _PROFILES:
        return bool(_map(value).get("type") == "RuntimeDefault")
    if key == "procMount":
        return bool(value == "Default")
    if key == "sysctls":
        return not value
    if key == "runAsNonRoot":
        return value is not False
    return key in ("privileged", "allowPrivilegeEscalation") and value is False


def _needs_of_account(key: str, value: Any, at: str) -> Iterator[MachinePart]:
    if key == "runAsUser" and value == 0:
        yield MachinePart("root", "a container", at)
        return
    for number in _list(value) if key == "supplementalGroups" else [value]:
        yield MachinePart("account", f"{key} {number}", at)


def _needs_of_resources(resources: Any, at: str) -> Iterator[MachinePart]:
    parts = [_map(_map(resources).get(part)) for part in ("requests", "limits")]
    for name in sorted({str(name) for amounts in parts for name in amounts}):
        if "/" in name:
            yield MachinePart("device", name, at)


_PARTS: Mapping[str, Callable[[Any, str], Iterator[MachinePart]]] = {
    "securityContext": _needs_of_security,
    "resources": _needs_of_resources,
}
"""Keys of both pods and containers, and how their values are read."""


def capability_name(name: str) -> str:
    """The name without its prefix, in capitals."""
    return name.upper().removeprefix("CAP_")


def _has_host(value: Any) -> bool:
    if isinstance(value, Mapping):
        return bool(value.get("host")) or any(map(_has_host, value.values()))
    return any(map(_has_host, value)) if isinstance(value, list) else False


def _json(value: Any) -> str:
    return msgspec.json.encode(value, order="deterministic").decode()


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else []


def _maps(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in _list(value) if isinstance(item, Mapping)]
