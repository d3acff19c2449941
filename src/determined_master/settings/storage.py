"""Checks the cluster's checkpoint storage against the pools that use it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from determined_master.domain.config.schema.problems import ProblemReport
from determined_master.domain.config.sections.storage import MASTER_STORAGE, SHARED

if TYPE_CHECKING:
    from determined_master.settings.master import Settings
    from determined_master.settings.pools import ResourcePool

AT = "root.checkpoint_storage"


def check_storage(settings: Settings, report: ProblemReport) -> None:
    """Report missing options, and a directory that ends with the machines that have it."""
    storage = settings.checkpoint_storage
    MASTER_STORAGE.find_gaps(storage, AT, report)
    if not storage or storage.get("type") != "shared_fs" or storage.get(SHARED):
        return
    path = str(storage.get("host_path", ""))
    pools = [pool for pool in settings.resource_pools if pool.provider is not None]
    losing = [pool.pool_name for pool in pools if not _mounts(settings, pool, path)]
    if losing:
        text = (
            f"is the directory {path} of each machine, and the machines of "
            f"{', '.join(losing)} are ended with their checkpoints when they are idle: use a "
            "bucket (type s3, gcs or azure), or mount one file system there on all machines, for "
            f"example by provider.startup_script, and set {SHARED}: true"
        )
        report.problem(AT, text)


def _mounts(settings: Settings, pool: ResourcePool, path: str) -> bool:
    """Whether the containers of a pool get the directory from a mount of their own."""
    sections = (pool.task_container_defaults or {}, settings.task_container_defaults or {})
    target = PurePosixPath(path)
    return any(target.is_relative_to(mounted) for one in sections for mounted in _mounted(one))


def _mounted(defaults: Mapping[str, Any]) -> Iterator[str]:
    for mount in defaults.get("bind_mounts") or ():
        yield str(mount.get("host_path", ""))
