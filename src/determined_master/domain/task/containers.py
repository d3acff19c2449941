"""The typed form of the container options in a configuration.

Source: task-contract 2.5, 2.8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from determined_master.domain.task.proxy_port import ProxyPort, proxy_ports_of

SHARED_FS_DIR = "/determined_shared_fs"


class RegistryCredentials(msgspec.Struct, frozen=True, kw_only=True):
    """Credentials for pulling an image; empty texts are not set."""

    username: str
    password: str
    server_address: str
    identity_token: str


class HostMount(msgspec.Struct, frozen=True, kw_only=True):
    """A directory of the host that the container sees."""

    host_path: str
    container_path: str
    is_read_only: bool = False
    propagation: str = "rprivate"
    if_missing: Literal["", "create", "fail", "skip"] = ""
    """For a storage: how an agent without the directory acts. Empty for other directories."""


class ContainerConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The container of a task, as its configuration describes it."""

    images: Mapping[str, str]
    """By type of device."""
    variables: Mapping[str, tuple[str, ...]]
    """By type of device, each as NAME=VALUE in order."""
    bind_mounts: tuple[HostMount, ...]
    shared_directory: HostMount | None
    """The mount that a shared_fs storage needs."""
    devices: tuple[str, ...]
    """Devices of the host as `HOST:CONTAINER:MODE`."""
    add_capabilities: tuple[str, ...]
    drop_capabilities: tuple[str, ...]
    ports: tuple[int, ...]
    """Ports that have names."""
    proxy_ports: tuple[ProxyPort, ...]
    registry_auth: RegistryCredentials | None
    pod_spec: Mapping[str, Any] | None
    shm_size_bytes: int | None
    force_pull_image: bool
    is_debug: bool

    def mounts(self) -> list[HostMount]:
        """The bind mounts, and the mount of the storage."""
        shared = self.shared_directory
        return [*self.bind_mounts, *(() if shared is None else (shared,))]

    def exposed_ports(self) -> set[int]:
        """The ports that it asks to have exposed, whether proxied or not."""
        return {*self.ports, *(p.port for p in self.proxy_ports)}

    def variables_of(self, device_type: str) -> dict[str, str]:
        """The variables for one type of device, later ones winning.

        An entry without `=` stands for an empty value.
        """
        variables: dict[str, str] = {}
        for entry in self.variables.get(device_type, ()):
            name, _, value = entry.partition("=")
            variables[name] = value
        return variables


def typed_containers(config: Mapping[str, Any]) -> ContainerConfig:
    """The container options of a completed configuration, also of an older or partial one."""
    environment = _map(config, "environment")
    resources = _map(config, "resources")
    variables = _map(environment, "environment_variables")
    shm_size = resources.get("shm_size")
    return ContainerConfig(
        images={k: str(v) for k, v in _map(environment, "image").items() if v},
        variables={k: tuple(map(str, v)) for k, v in variables.items() if v},
        bind_mounts=tuple(map(_mount, _items(config, "bind_mounts"))),
        shared_directory=shared_directory(_map(config, "checkpoint_storage")),
        devices=tuple(map(_device, _items(resources, "devices"))),
        add_capabilities=tuple(_items(environment, "add_capabilities")),
        drop_capabilities=tuple(_items(environment, "drop_capabilities")),
        ports=tuple(map(int, _map(environment, "ports").values())),
        proxy_ports=proxy_ports_of(environment),
        registry_auth=_credentials(environment.get("registry_auth")),
        pod_spec=environment.get("pod_spec"),
        shm_size_bytes=None if shm_size is None else int(shm_size),
        force_pull_image=bool(environment.get("force_pull_image")),
        is_debug=bool(config.get("debug")),
    )


def shared_directory(storage: Mapping[str, Any]) -> HostMount | None:
    """The mount that a shared_fs storage needs; None for other storages."""
    if storage.get("type") != "shared_fs":
        return None
    return HostMount(
        host_path=storage["host_path"],
        container_path=SHARED_FS_DIR,
        propagation=storage.get("propagation") or "rprivate",
        if_missing="create" if storage.get("create") else "fail",
    )


def without_missing_storage(config: ContainerConfig) -> ContainerConfig:
    """The container, which also starts where the directory of its storage is missing."""
    shared = config.shared_directory
    if shared is None:
        return config
    optional = msgspec.structs.replace(shared, if_missing="skip")
    return msgspec.structs.replace(config, shared_directory=optional)


def _map(config: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    return config.get(key) or {}


def _items(config: Mapping[str, Any], key: str) -> Sequence[Any]:
    return config.get(key) or ()


def _mount(given: Mapping[str, Any]) -> HostMount:
    return HostMount(
        host_path=given["host_path"],
        container_path=given["container_path"],
        is_read_only=bool(given.get("read_only")),
        propagation=given.get("propagation") or "rprivate",
    )


def _device(given: Mapping[str, Any]) -> str:
    return f"{given['host_path']}:{given['container_path']}:{given.get('mode') or 'mrw'}"


def _credentials(given: Mapping[str, Any] | None) -> RegistryCredentials | None:
    if not given:
        return None
    return RegistryCredentials(
        username=given.get("username") or "",
        password=given.get("password") or "",
        server_address=given.get("serveraddress") or "",
        identity_token=given.get("identitytoken") or given.get("registrytoken") or "",
    )
