"""What a container is created with. PURE.

Source: agent-config 5, task-contract 2.5.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

import msgspec

from determined_agent.container.environment import ContainerStart, agent_variables
from determined_agent.settings.options import Settings
from determined_wire.agent_link import ContainerSpec, Device, Mount

LABEL = "ai.determined.container."
HARNESS_DIR = "/opt/determined/harness"
"""Where the harness is mounted; nothing of an image is expected there."""
NVIDIA_CAPABILITIES = ("gpu", "compute", "utility")

_LEAST_LOG_BYTES = 64 * 1024**2
_DEVICE_MODE = "mrw"


class Harness(msgspec.Struct, frozen=True):
    """The packages that are mounted into every container, by the name of their import."""

    packages: Mapping[str, str]
    """Directory on the host of each."""


def create_body(
    start: ContainerStart, settings: Settings, harness: Harness, render_nodes: tuple[str, ...] = ()
) -> dict[str, Any]:
    """The body of POST /containers/create.

    Args:
        start: the container.
        settings: the agent's.
        harness: what is mounted first on PYTHONPATH.
        render_nodes: device files of its slots, where these are ROCm's.

    Raises:
        ValueError: something in the specification cannot be carried out; the text names it.
    """
    spec = start.spec
    if not spec.image:
        raise ValueError(
            "the task names no image: set environment.image, or task_container_defaults.image "
            "for the whole cluster"
        )
    body: dict[str, Any] = {
        "Image": spec.image,
        "Cmd": list(spec.entrypoint),
        "Env": [f"{name}={value}" for name, value in environment(start, settings).items()],
        "User": f"{spec.user.uid}:{spec.user.gid}",
        "WorkingDir": spec.work_dir or "/run/determined/workdir",
        "Labels": labels(start, settings),
        "ExposedPorts": {f"{port}/tcp": {} for port in spec.ports},
        "HostConfig": _host_config(start, settings, harness, render_nodes),
    }
    if any("\0" in text for text in [*body["Cmd"], *body["Env"]]):
        raise ValueError("a NUL in an argument or an environment variable of the task")
    return body


def environment(start: ContainerStart, settings: Settings) -> dict[str, str]:
    """The container's variables; those of the image stay where none of the same name is here."""
    given = start.spec.environment
    search = f"{HARNESS_DIR}:{given['PYTHONPATH']}" if given.get("PYTHONPATH") else HARNESS_DIR
    return {
        "PYTHONUNBUFFERED": "1",
        **given,
        **agent_variables(start, settings),
        "PYTHONPATH": search,
    }


def labels(start: ContainerStart, settings: Settings) -> dict[str, str]:
    """By which the container is found again, and shown by Docker's own tools."""
    values = {
        "type": "task-container",
        "version": "0",
        "id": start.container_id,
        "devices": ",".join(str(d.id) for d in start.devices),
        "description": start.spec.description,
        "agent": settings.agent_id,
        "cluster": start.master.cluster_id,
        "master": start.master.master_id,
    }
    return {LABEL + name: value for name, value in values.items()}


def container_name(start: ContainerStart) -> str:
    """A name that people recognise and that no other container has."""
    allowed = "".join(c if c.isalnum() or c in "_.-" else "-" for c in start.spec.description)
    return f"{allowed.lstrip('_.-') or 'task'}-{start.container_id}"


def loopback_warning(start: ContainerStart, settings: Settings) -> str | None:
    """What is wrong when the master's address means the container itself."""
    host = settings.container_master_host or settings.master_host
    if start.spec.network_mode == "host" or not is_loopback(host):
        return None
    return (
        f"the master's address {host} means the container itself in network mode "
        f"'{start.spec.network_mode}': set the agent's container_master_host to an address that "
        "containers reach, or task_container_defaults.network_mode to host"
    )


def is_loopback(host: str) -> bool:
    """Whether a name or address is that of the machine itself."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _host_config(
    start: ContainerStart, settings: Settings, harness: Harness, render_nodes: tuple[str, ...]
) -> dict[str, Any]:
    spec = start.spec
    config: dict[str, Any] = {
        "NetworkMode": spec.network_mode or "bridge",
        "PublishAllPorts": True,
        "CapAdd": list(spec.add_capabilities),
        "CapDrop": list(spec.drop_capabilities),
        "Mounts": [*_harness_mounts(harness), *(_mount(m, spec) for m in spec.mounts)],
        "Devices": [*map(_device, spec.devices), *map(_render_node, render_nodes)],
        "AutoRemove": False,
        "RestartPolicy": {"Name": "no"},
    }
    if settings.container_runtime == "docker":
        # Docker's own reader may skip what is left of a file when that is put aside while it
        # lags behind: so there is one large file, and a second one only beyond the bound.
        size = max(_LEAST_LOG_BYTES, settings.log_spool_bytes)
        options = {"max-size": str(size), "max-file": "2"}
        config["LogConfig"] = {"Type": "json-file", "Config": options}
    if spec.shm_size_bytes is not None:
        config["ShmSize"] = spec.shm_size_bytes
    if settings.container_pids_limit:
        config["PidsLimit"] = settings.container_pids_limit
    if render_nodes:
        config["SecurityOpt"] = ["seccomp=unconfined"]
        config["GroupAdd"] = ["video"]
    gpus = [d for d in start.devices if d.type == "cuda"]
    if gpus:
        config["DeviceRequests"] = [_gpu_request(gpus)]
    return config


def _gpu_request(gpus: list[Device]) -> dict[str, Any]:
    return {
        "Driver": "nvidia",
        "DeviceIDs": [d.uuid for d in gpus],
        "Capabilities": [list(NVIDIA_CAPABILITIES)],
    }


def _harness_mounts(harness: Harness) -> list[dict[str, Any]]:
    return [
        {
            "Type": "bind",
            "Source": path,
            "Target": f"{HARNESS_DIR}/{name}",
            "ReadOnly": True,
        }
        for name, path in harness.packages.items()
    ]


def _mount(mount: Mount, spec: ContainerSpec) -> dict[str, Any]:
    target = mount.container_path
    if not target.startswith("/"):
        target = f"{spec.work_dir or '/run/determined/workdir'}/{target}"
    return {
        "Type": "bind",
        "Source": mount.host_path,
        "Target": target,
        "ReadOnly": mount.read_only,
        "BindOptions": {"Propagation": mount.propagation or "rprivate"},
    }


def _device(text: str) -> dict[str, str]:
    host, _, rest = text.partition(":")
    inside, _, mode = rest.partition(":")
    return {
        "PathOnHost": host,
        "PathInContainer": inside or host,
        "CgroupPermissions": mode or _DEVICE_MODE,
    }


def _render_node(path: str) -> dict[str, str]:
    return {"PathOnHost": path, "PathInContainer": path, "CgroupPermissions": "rwm"}
