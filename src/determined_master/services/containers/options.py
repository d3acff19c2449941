"""The options of containers in a configuration: image, memory, devices, capabilities, mounts.

Source: task-contract 2.5, 2.8.
"""

from __future__ import annotations

from typing import Any

import msgspec

from determined_master.domain.task.containers import ContainerConfig
from determined_wire import agent_link as link


def container_options(
    config: ContainerConfig, device_type: str, shm_size_bytes: int
) -> dict[str, Any]:
    """Fields of a `ContainerSpec` by their names.

    Args:
        config: of the task.
        device_type: of the container's slots: says which image it gets.
        shm_size_bytes: the cluster's default.
    """
    auth = config.registry_auth
    return {
        "image": config.images.get(device_type, ""),
        "force_pull_image": config.force_pull_image,
        "registry_auth": auth and link.RegistryAuth(*msgspec.structs.astuple(auth)),
        "add_capabilities": config.add_capabilities,
        "drop_capabilities": config.drop_capabilities,
        "devices": config.devices,
        "shm_size_bytes": config.shm_size_bytes or shm_size_bytes,
    }


def mounts(config: ContainerConfig) -> list[link.Mount]:
    """The bind mounts, and the mount of the storage."""
    return [link.Mount(*msgspec.structs.astuple(mount)) for mount in config.mounts()]


def with_storage_of_cluster(spec: link.ContainerSpec, directory: str) -> link.ContainerSpec:
    """Let agents create the cluster's own storage, if an admin has allowed that.

    Configurations of experiments do not say so: clients of 0.38.1 refuse keys that they do not
    know when they download a checkpoint.
    """
    if not directory:
        return spec
    mounts = tuple(
        msgspec.structs.replace(mount, if_missing="create")
        if mount.if_missing == "fail" and mount.host_path == directory
        else mount
        for mount in spec.mounts
    )
    return msgspec.structs.replace(spec, mounts=mounts)


class TaskProgram(msgspec.Struct, frozen=True, kw_only=True):
    """What one task runs."""

    username: str
    """Of its owner."""
    description: str
    entrypoint: tuple[str, ...]
    environment: dict[str, str]
    work_dir: str
    files: tuple[link.File, ...] = ()
    mounts: tuple[link.Mount, ...] = ()
    ports: tuple[int, ...] = ()
    """All that the container exposes, in order."""
