"""What a configuration says about containers themselves: image, memory, devices, rights, mounts.

Source: task-contract 2.5, 2.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from determined_master.domain.task import spec as task_spec
from determined_master.domain.task.proxy_port import proxy_ports_of
from determined_wire import agent_link as link


def container_options(
    config: Mapping[str, Any], device_type: str, shm_size_bytes: int
) -> dict[str, Any]:
    """Fields of a `ContainerSpec` by their names.

    Args:
        config: a completed configuration.
        device_type: of the container's slots: says which image it gets.
        shm_size_bytes: what the cluster gives a container that asks for nothing else.
    """
    environment = config.get("environment") or {}
    resources = config.get("resources") or {}
    return {
        "image": str((environment.get("image") or {}).get(device_type) or ""),
        "force_pull_image": bool(environment.get("force_pull_image")),
        "registry_auth": registry_auth(environment.get("registry_auth")),
        "add_capabilities": tuple(environment.get("add_capabilities") or ()),
        "drop_capabilities": tuple(environment.get("drop_capabilities") or ()),
        "devices": tuple(map(device, resources.get("devices") or ())),
        "shm_size_bytes": int(resources.get("shm_size") or shm_size_bytes),
    }


def mounts(config: Mapping[str, Any]) -> list[link.Mount]:
    """The directories of the host that it asks for, and that of its storage."""
    found = [
        link.Mount(
            host_path=m["host_path"],
            container_path=m["container_path"],
            read_only=bool(m.get("read_only")),
            propagation=m.get("propagation") or "rprivate",
        )
        for m in config.get("bind_mounts") or ()
    ]
    storage = task_spec.storage_mount(config.get("checkpoint_storage") or {})
    if storage is not None:
        host_path, container_path, propagation = storage
        found.append(link.Mount(host_path, container_path, propagation=propagation))
    return found


def exposed_ports(config: Mapping[str, Any]) -> set[int]:
    """The ports that it asks to have exposed, whether proxied or not."""
    environment = config.get("environment") or {}
    named = map(int, (environment.get("ports") or {}).values())
    return {*named, *(p.port for p in proxy_ports_of(environment))}


def registry_auth(given: Mapping[str, Any] | None) -> link.RegistryAuth | None:
    """Credentials for pulling the image, None where none are set."""
    if not given:
        return None
    return link.RegistryAuth(
        username=given.get("username") or "",
        password=given.get("password") or "",
        server_address=given.get("serveraddress") or "",
        identity_token=given.get("identitytoken") or given.get("registrytoken") or "",
    )


def device(given: Mapping[str, Any]) -> str:
    """A device of the host as `HOST:CONTAINER:MODE`."""
    return f"{given['host_path']}:{given['container_path']}:{given.get('mode') or 'mrw'}"


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
