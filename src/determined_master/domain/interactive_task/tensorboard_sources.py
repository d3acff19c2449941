"""Sources of a TensorBoard: experiments and trials, wherever their files are. PURE.

Each source has its own storage, so that one TensorBoard may show experiments with different ones.
Source: task-contract 6.2, 7.4.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from determined_master.domain.task import spec as task_spec
from determined_master.domain.task.containers import (
    SHARED_FS_DIR,
    HostMount,
    shared_directory,
    typed_containers,
)

FILE = f"{task_spec.RUN_DIR}/tensorboard/sources.json"
"""The file's path in the task; it holds the storages' credentials."""


class LogSource(msgspec.Struct, frozen=True, kw_only=True):
    """All trials of an experiment, or one of them."""

    experiment_id: int
    trial_id: int | None = None
    config: Mapping[str, Any]
    """The experiment's: its storage, and the variables for access to it."""


def to_json(sources: Sequence[LogSource]) -> bytes:
    """The sources in the form that the task reads: a list of `{experiment, trial, storage, root}`.

    `root` is the path of a shared_fs storage in the task, empty for other storages.

    Raises:
        ValueError: there are none.
    """
    if not sources:
        raise ValueError("a TensorBoard needs an experiment or a trial to show")
    roots = _roots(sources)
    rows = [
        {
            "experiment": source.experiment_id,
            "trial": source.trial_id,
            "storage": dict(_storage(source)),
            "root": roots.get(_host_path(source), ""),
        }
        for source in sorted(sources, key=_order)
    ]
    return json.dumps(rows, indent=1, sort_keys=True).encode()


def variables(sources: Sequence[LogSource], device_type: str) -> dict[str, str]:
    """The variables of the experiments' configurations; later experiments override."""
    found: dict[str, str] = {}
    for source in sorted(sources, key=_order):
        found.update(typed_containers(source.config).variables_of(device_type))
    return found


def storage_mounts(sources: Sequence[LogSource]) -> list[HostMount]:
    """The mounts of shared_fs storages."""
    found: dict[str, HostMount] = {}
    for source in sorted(sources, key=_order):
        mount = shared_directory(_storage(source))
        if mount is not None:
            found.setdefault(mount.host_path, mount)
    roots = _roots(sources)
    return [
        replace(mount, container_path=roots[host], is_read_only=True)
        for host, mount in found.items()
    ]


def _roots(sources: Sequence[LogSource]) -> dict[str, str]:
    """The container path of each host path: the first has the path that trials use."""
    hosts = dict.fromkeys(_host_path(s) for s in sorted(sources, key=_order))
    hosts.pop("", None)
    base = SHARED_FS_DIR
    return {host: f"{base}_{n}" if n else base for n, host in enumerate(hosts)}


def _host_path(source: LogSource) -> str:
    mount = shared_directory(_storage(source))
    return "" if mount is None else mount.host_path


def _storage(source: LogSource) -> Mapping[str, Any]:
    return source.config.get("checkpoint_storage") or {}


def _order(source: LogSource) -> tuple[int, int]:
    return source.experiment_id, source.trial_id or 0
