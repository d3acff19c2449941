"""The environment variables of a task: those that the master sent, and the agent's own.

Source: task-contract 2.3, agent-config 5.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

import msgspec

from determined_agent.container.trust import tls_variables
from determined_agent.settings.options import PROXIES, Settings
from determined_wire import images
from determined_wire.agent_link import ContainerSpec, Device

CONTAINER_RUN_DIR = "/run/determined"
SHARED_FS_DIR = "/determined_shared_fs"


class MasterIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """The ids of the master and its cluster."""

    master_id: str = ""
    cluster_id: str = ""


class ContainerStart(msgspec.Struct, frozen=True, kw_only=True):
    container_id: str
    devices: tuple[Device, ...]
    """The devices of its slots."""
    spec: ContainerSpec
    master: MasterIdentity


class HostEnvironment(msgspec.Struct, frozen=True, kw_only=True):
    """The values that a process task inherits from the machine."""

    python: str
    """Path of the agent's interpreter."""
    path: str
    home: str
    pythonpath: str
    """The directory that holds only the harness and its dependencies."""


def agent_variables(start: ContainerStart, settings: Settings) -> dict[str, str]:
    """Return the variables that the agent sets for every task; they override all others."""
    tls = settings.security.tls
    host = settings.container_master_host or settings.master_host
    port = settings.container_master_port or settings.master_port
    scheme = "https" if tls.enabled else "http"
    address = f"[{host}]" if ":" in host else host
    variables = {
        "DET_CLUSTER_ID": start.master.cluster_id,
        "DET_MASTER_ID": start.master.master_id,
        "DET_MASTER": f"{scheme}://{address}:{port}",
        "DET_MASTER_HOST": host,
        "DET_MASTER_ADDR": host,
        "DET_MASTER_PORT": str(port),
        "DET_AGENT_ID": settings.agent_id,
        "DET_CONTAINER_ID": start.container_id,
        "DET_SLOT_IDS": json.dumps([d.id for d in start.devices], separators=(",", ":")),
    }
    if start.devices:
        variables["DET_SLOT_TYPE"] = start.devices[0].type
    variables.update(tls_variables(tls))
    names = {name.upper() for name in start.spec.environment}
    for name in PROXIES:
        value = getattr(settings, name)
        if value and name.upper() not in names:
            variables[name.upper()] = value
    return variables


def to_host_path(text: str, run_dir: str) -> str:
    """Map a path below /run/determined to this machine; return any other text unchanged."""
    if text == CONTAINER_RUN_DIR or text.startswith(f"{CONTAINER_RUN_DIR}/"):
        return run_dir + text[len(CONTAINER_RUN_DIR) :]
    return text


def process_environment(
    start: ContainerStart, settings: Settings, host: HostEnvironment, run_dir: str
) -> dict[str, str]:
    """Return the whole environment of a task that runs as a plain process.

    Args:
        start: the container.
        settings: the agent's.
        host: what it inherits from the machine.
        run_dir: directory on this machine that is its /run/determined.
    """
    spec = start.spec
    specified = {name: to_host_path(value, run_dir) for name, value in spec.environment.items()}
    python = specified.get("DET_PYTHON_EXECUTABLE") or host.python
    path = [os.path.dirname(python)] if os.path.isabs(python) else []
    variables = {
        "PATH": os.pathsep.join([*path, host.path]),
        "HOME": host.home,
        "PYTHONUNBUFFERED": "1",
        **specified,
        **{n: to_host_path(v, run_dir) for n, v in agent_variables(start, settings).items()},
        **_gpu_variables(start.devices),
    }
    search = [host.pythonpath, specified.get("PYTHONPATH", "")]
    variables["PYTHONPATH"] = os.pathsep.join(filter(None, search))
    for mount in spec.mounts:
        if mount.container_path == SHARED_FS_DIR:
            variables["DET_SHARED_FS_PATH"] = mount.host_path
    return variables


DEFAULT_SHM_BYTES = 4 * 2**30


def ignored_options(spec: ContainerSpec, *, may_switch_user: bool) -> list[str]:
    """List the options that the process runtime ignores, as the configuration names them."""
    ignored: Mapping[str, object] = {
        f"environment.image ({spec.image})": spec.image
        and not images.is_default_of_tasks(spec.image),
        "environment.add_capabilities": spec.add_capabilities,
        "environment.drop_capabilities": spec.drop_capabilities,
        "resources.devices": spec.devices,
        "resources.shm_size": spec.shm_size_bytes not in (None, DEFAULT_SHM_BYTES),
        "bind_mounts (paths are those of the host)": [
            m for m in spec.mounts if m.container_path != SHARED_FS_DIR
        ],
        f"the agent user {spec.user.user} (the agent does not run as root)": (
            spec.user.uid != 0 and not may_switch_user
        ),
    }
    outside = [f.path for f in spec.files if to_host_path(f.path, "") == f.path]
    names = [name for name, value in ignored.items() if value]
    return names + [f"the file {path}" for path in outside]


def _gpu_variables(devices: tuple[Device, ...]) -> dict[str, str]:
    """Variables that hide all GPUs but those of the task: the machine may have others."""
    cuda = ",".join(d.uuid for d in devices if d.type == "cuda")
    rocm = ",".join(str(d.id) for d in devices if d.type == "rocm")
    return {"CUDA_VISIBLE_DEVICES": cuda, "ROCR_VISIBLE_DEVICES": rocm}
