"""The body of the request that creates a container. PURE.

Source: agent-config 5, task-contract 2.5.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

import msgspec

from determined_agent.container.environment import ContainerStart, agent_variables
from determined_agent.runtimes.harness import HARNESS_DIR
from determined_agent.settings.options import Settings
from determined_wire.agent_link import ContainerSpec, Device, Mount

LABEL = "ai.determined.container."
NVIDIA_CAPABILITIES = ("gpu", "compute", "utility")

_NO_GPUS = {"NVIDIA_VISIBLE_DEVICES": "void"}
"""Where NVIDIA's runtime is Docker's default, images ask for all GPUs by this variable."""
_LEAST_LOG_BYTES = 64 * 1024**2
_DEVICE_MODE = "mrw"


class Harness(msgspec.Struct, frozen=True):
    """The packages that are mounted into every container."""

    packages: Mapping[str, str]
    """Directories on the host, by import name."""


def create_body(
    start: ContainerStart, settings: Settings, harness: Harness, render_nodes: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return the body of POST /containers/create.

    Args:
        start: the container.
        settings: the agent's.
        harness: packages to mount, first on PYTHONPATH.
        render_nodes: device files of its ROCm slots.

    Raises:
        ValueError: the specification cannot be fulfilled; the text names the option.
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
    """Return the variables that are set in the container, over those of the image."""
    env = start.spec.environment
    search = f"{HARNESS_DIR}:{env['PYTHONPATH']}" if env.get("PYTHONPATH") else HARNESS_DIR
    return {
        "PYTHONUNBUFFERED": "1",
        **env,
        **agent_variables(start, settings),
        **({} if any(d.type == "cuda" for d in start.devices) else _NO_GPUS),
        "PYTHONPATH": search,
    }


def labels(start: ContainerStart, settings: Settings) -> dict[str, str]:
    """Return the labels by which the container is found again."""
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
    """Return a readable, unique name."""
    allowed = "".join(c if c.isalnum() or c in "_.-" else "-" for c in start.spec.description)
    return f"{allowed.lstrip('_.-') or 'task'}-{start.container_id}"


def loopback_warning(start: ContainerStart, settings: Settings) -> str | None:
    """Return a warning if the master's address is the container itself from inside it."""
    host = settings.container_master_host or settings.master_host
    if start.spec.network_mode == "host" or not is_loopback(host):
        return None
    return (
        f"the master's address {host} is the container itself in network mode "
        f"'{start.spec.network_mode}': set the agent's container_master_host to an address that "
        "containers reach, or task_container_defaults.network_mode to host"
    )


def is_loopback(host: str) -> bool:
    """Whether a name or address is a loopback one."""
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
        "SecurityOpt": [] if spec.allow_root else ["no-new-privileges"],
        "AutoRemove": False,
        "RestartPolicy": {"Name": "no"},
    }
    if settings.container_runtime == "docker":
        # When a log file is rotated, a follower of Docker's log that lags behind may lose the rest
        # of it. So one file is as large as the spool, and the second one is only an overflow.
        size = max(_LEAST_LOG_BYTES, settings.log_spool_bytes)
        options = {"max-size": str(size), "max-file": "2"}
        config["LogConfig"] = {"Type": "json-file", "Config": options}
    if spec.shm_size_bytes is not None:
        config["ShmSize"] = spec.shm_size_bytes
    if settings.container_pids_limit:
        config["PidsLimit"] = settings.container_pids_limit
    if render_nodes:
        config["SecurityOpt"].append("seccomp=unconfined")
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
