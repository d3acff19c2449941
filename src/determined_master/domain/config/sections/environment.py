"""The container of a task: image, variables, ports, credentials, Kubernetes pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from determined_master.domain.config.schema.containers import (
    Field,
    ListOf,
    MapOf,
    Object,
    unknown_key,
)
from determined_master.domain.config.schema.problems import ProblemReport
from determined_master.domain.config.schema.values import Boolean, Integer, Text, ValueType
from determined_master.domain.config.sections.pod_spec import POD_SPEC
from determined_wire import images

DEVICE_TYPES = ("cpu", "cuda", "rocm")
_KNOWN = {**dict.fromkeys(DEVICE_TYPES), "gpu": None}

DEFAULT_IMAGES = {device: images.published(part) for device, part in images.TASK_PARTS.items()}


def _per_device(
    value: Mapping[str, Any], kind: ValueType, at: str, report: ProblemReport
) -> dict[str, Any]:
    """Read a map by device type. The older key `gpu` stands for an absent `cuda`."""
    read = {}
    for key, item in value.items():
        if key not in _KNOWN:
            report.problem(at, unknown_key(key, _KNOWN, has_hint=report.wants_hints))
        elif item is not None:
            read[key] = kind.read(item, f"{at}.{key}", report)
    if "gpu" in read:
        older = read.pop("gpu")
        read.setdefault("cuda", older)
    return read


class Image(ValueType):
    """An image for all device types, or one for each."""

    noun = "string"

    def read(self, value: Any, at: str, report: ProblemReport) -> dict[str, Any] | None:
        if isinstance(value, str):
            text = Text().read(value, at, report)
            return dict.fromkeys(DEVICE_TYPES, text)
        if not isinstance(value, Mapping):
            report.problem(at, "is neither a string nor a map of cpu, cuda and rocm to strings")
            return None
        return _per_device(value, Text(), at, report)

    def merge(self, high: Any, low: Any) -> Any:
        return {**(low or {}), **(high or {})} or None

    def complete(self, value: Any) -> Any:
        return {**DEFAULT_IMAGES, **(value or {})}

    def json_schema(self) -> dict[str, Any]:
        names = {name: {"type": "string"} for name in _KNOWN}
        by_type = {"type": "object", "properties": names, "additionalProperties": False}
        return {"anyOf": [{"type": "string"}, by_type]}


class Variables(ValueType):
    """Variables as a list of `NAME=VALUE` for all device types, or a list for each.

    The lower layer's come first, so that the higher layer's override them and may refer to them.
    """

    noun = "array"

    def read(self, value: Any, at: str, report: ProblemReport) -> dict[str, Any] | None:
        if isinstance(value, list):
            if not all(isinstance(item, str) for item in value):
                report.problem(at, "is not a list of strings: write each variable as NAME=VALUE")
                return None
            read = ListOf(Text(_has_a_name)).read(value, at, report)
            return {device: list(read or ()) for device in DEVICE_TYPES}
        if not isinstance(value, Mapping):
            report.problem(
                at, "is neither a list of NAME=VALUE nor a map of cpu, cuda and rocm to such lists"
            )
            return None
        return _per_device(value, ListOf(Text(_has_a_name)), at, report)

    def merge(self, high: Any, low: Any) -> Any:
        if high is None or low is None:
            return super().merge(high, low)
        return {
            device: after(low.get(device) or [], high.get(device) or [])
            for device in DEVICE_TYPES
            if device in low or device in high
        }

    def complete(self, value: Any) -> Any:
        return {device: list((value or {}).get(device) or ()) for device in DEVICE_TYPES}

    def json_schema(self) -> dict[str, Any]:
        texts = {"type": "array", "items": {"type": "string"}}
        names = dict.fromkeys(_KNOWN, texts)
        by_type = {"type": "object", "properties": names, "additionalProperties": False}
        return {"anyOf": [texts, by_type]}


def after(low: list[Any], high: list[Any]) -> list[Any]:
    """A lower layer's items, followed by a higher layer's.

    A higher list that starts with the lower one already includes it, as when a stored
    configuration is submitted again.
    """
    return high if high[: len(low)] == low else [*low, *high]


def _has_a_name(entry: str) -> str | None:
    name = entry.partition("=")[0]
    return None if name.strip() else f'"{entry}" lacks a name: write NAME=VALUE'


def proxy_port(item: Any) -> Any:
    """The key that identifies a proxied port."""
    return item.get("proxy_port") if item else None


PROXY_PORTS = ListOf(
    Object(
        {
            "proxy_port": Field(
                Integer(at_least=1, at_most=65535), is_required=True, doc="Port of the container."
            ),
            "proxy_tcp": Field(Boolean(), False, "Whether it is a raw tunnel instead of HTTP."),
            "unauthenticated": Field(
                Boolean(), False, "Whether it is reachable without authentication."
            ),
            "default_service_id": Field(
                Boolean(), False, "Whether its address is the task's id, without the port."
            ),
        }
    ),
    key=proxy_port,
)

_CREDENTIALS = (
    "username",
    "password",
    "auth",
    "email",
    "serveraddress",
    "identitytoken",
    "registrytoken",
)


def _names_its_server(auth: dict[str, Any], at: str, report: ProblemReport) -> None:
    if any(auth.values()) and not auth.get("serveraddress"):
        text = "lacks serveraddress, the registry that it is for; that is deprecated"
        report.warn(at, text)


REGISTRY_AUTH = Object(
    {name: Field(Text(), is_hidden_when_null=True) for name in _CREDENTIALS},
    rules=(_names_its_server,),
    wholesale=True,
)

CAPABILITIES = ListOf(Text())

ENVIRONMENT = Object(
    {
        "image": Field(
            Image(),
            {},
            "Image, one for all device types or one for each. Default: those of the release.",
        ),
        "environment_variables": Field(Variables(), {}, "NAME=VALUE, in order."),
        "proxy_ports": Field(PROXY_PORTS, [], "Ports to reach through the master."),
        "ports": Field(
            MapOf(Integer(at_least=0, at_most=65535)), {}, "Ports of the container, by name."
        ),
        "force_pull_image": Field(Boolean(), False, "Pull the image even if it is there."),
        "registry_auth": Field(REGISTRY_AUTH, doc="Credentials of the image's registry."),
        "add_capabilities": Field(CAPABILITIES, [], "Linux capabilities to add."),
        "drop_capabilities": Field(CAPABILITIES, [], "Linux capabilities to drop."),
        "pod_spec": Field(POD_SPEC, doc="Kubernetes pod to merge into the task's."),
    }
)
