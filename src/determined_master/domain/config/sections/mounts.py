"""Directories and devices of the host that containers see."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from determined_master.domain.config.schema.containers import Field, ListOf, Object
from determined_master.domain.config.schema.problems import ProblemReport
from determined_master.domain.config.schema.values import Boolean, Text, ValueType

_DEVICE_TEXT = re.compile(r"(/[^:]*):(/[^:]*)(?::([rwm]+))?")


def absolute(path: str) -> str | None:
    """The fault of a path that is not absolute."""
    return None if path.startswith("/") else f'must be an absolute path but found "{path}"'


def _below_the_work_directory(path: str) -> str | None:
    return 'must not be ".", the work directory itself' if path == "." else None


def _mode(mode: str) -> str | None:
    good = mode and set(mode) <= set("rwm")
    return None if good else f'must be of the letters r, w and m but found "{mode}"'


def container_path(item: Any) -> Any:
    """The key that identifies a mount or a device."""
    return item.get("container_path") if item else None


BIND_MOUNT = Object(
    {
        "host_path": Field(Text(absolute), is_required=True, doc="Directory of the agent."),
        "container_path": Field(
            Text(_below_the_work_directory),
            is_required=True,
            doc="Where the container sees it; relative to the work directory.",
        ),
        "read_only": Field(Boolean(), False, "Whether the container may only read it."),
        "propagation": Field(Text(), "rprivate", "Docker's mode of mount propagation."),
    }
)
BIND_MOUNTS = ListOf(BIND_MOUNT, key=container_path)

_DEVICE_MAP = Object(
    {
        "host_path": Field(Text(absolute), is_required=True),
        "container_path": Field(Text(absolute), is_required=True),
        "mode": Field(Text(_mode), "mrw"),
    }
)


class Device(ValueType):
    """A device as `HOST:CONTAINER[:MODE]` or as a map."""

    noun = "object"

    def read(self, value: Any, at: str, report: ProblemReport) -> dict[str, Any] | None:
        if isinstance(value, Mapping):
            return _DEVICE_MAP.read(value, at, report)
        match = _DEVICE_TEXT.fullmatch(value) if isinstance(value, str) else None
        if match is None:
            report.problem(
                at, "is neither a device string HOST:CONTAINER[:MODE] nor a map of a device"
            )
            return None
        device = {"host_path": match[1], "container_path": match[2]}
        if match[3]:
            device["mode"] = match[3]
        return _DEVICE_MAP.read(device, at, report)

    def complete(self, value: Any) -> Any:
        return _DEVICE_MAP.complete(value)

    def find_gaps(self, value: Any, at: str, report: ProblemReport) -> None:
        _DEVICE_MAP.find_gaps(value, at, report)

    def json_schema(self) -> dict[str, Any]:
        return {"anyOf": [{"type": "string"}, _DEVICE_MAP.json_schema()]}


DEVICE = Device()
