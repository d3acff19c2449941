"""The containers of commands, notebooks, shells and TensorBoards: how they start. PURE.

Each kind's program is `determined.exec.entry KIND`; what it finds beside what every task has is
decided here alone.
Source: task-contract 2.1, 2.3, 2.6, 3.1, 7.2 to 7.6.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from determined_master.domain.config.masking import mask_config
from determined_master.domain.interactive_task import tensorboard_sources
from determined_master.domain.interactive_task.tensorboard_sources import LogSource
from determined_master.domain.interactive_task.welcome import WELCOME_NOTEBOOK
from determined_master.domain.task import spec as task_spec
from determined_master.domain.task.containers import ContainerConfig, typed_containers
from determined_master.domain.task.proxy_port import ProxyPort
from determined_master.domain.task.ssh_files import KeyPair, shell_files
from determined_master.services.containers.options import mounts
from determined_wire import agent_link as link

InteractiveKind = Literal["COMMAND", "NOTEBOOK", "SHELL", "TENSORBOARD"]
PROGRAM = ("python3", "-m", "determined.exec.entry")
SERVICE_KEY = f"{task_spec.RUN_DIR}/tensorboard/service-key"


class TaskSecrets(msgspec.Struct, frozen=True, kw_only=True):
    """Secrets of the task and its user; each kind has its own."""

    ssh_keys: KeyPair | None = None
    """Of a shell."""
    notebook_token: str = ""
    certificate: bytes = b""
    """PEM, with which a notebook's server answers the master's proxy."""
    certificate_key: bytes = b""
    service_key: str = ""
    """Of a TensorBoard: it is asked of who opens a connection to it."""


class TaskToStart(msgspec.Struct, frozen=True, kw_only=True):
    """One task that is to start."""

    kind: InteractiveKind
    task_id: str
    config: Mapping[str, Any]
    """Completed, with its secrets."""
    arguments: Sequence[str] = ()
    """The command of a command, the arguments of a TensorBoard."""
    idle_type: str = ""
    """When a notebook counts as idle."""
    port: int = 0
    """Where its server listens, chosen for it; a command has none."""
    work_dir: str = task_spec.WORK_DIR
    sources: Sequence[LogSource] = ()
    """What a TensorBoard shows."""


class InteractiveSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a task's container that other kinds do not have."""

    description: str
    entrypoint: tuple[str, ...]
    environment: dict[str, str]
    files: tuple[link.File, ...]
    mounts: tuple[link.Mount, ...]
    ports: tuple[int, ...]
    """All that the container exposes, in order."""
    proxy_ports: tuple[ProxyPort, ...]


def spec_of(task: TaskToStart, secrets: TaskSecrets, device_type: str) -> InteractiveSpec:
    """The specification of a task's one container.

    Args:
        task: what is to run.
        secrets: those of its kind.
        device_type: of its slots; says which of the configuration's variables it gets.

    Raises:
        ValueError: the port or a secret that its kind needs is not given, or a TensorBoard has
            no sources.
    """
    config = typed_containers(task.config)
    proxied = (*own_proxy_ports(task.kind, task.port), *config.proxy_ports)
    exposed = config.exposed_ports() | {p.port for p in proxied}
    variables = {"DET_WORKDIR": task.work_dir, **_variables(task, secrets, device_type)}
    if config.is_debug:
        variables["DET_DEBUG"] = "true"
    return InteractiveSpec(
        description=f"cmd-{task.task_id}",
        entrypoint=_entrypoint(task),
        environment={**variables, **config.variables_of(device_type)},
        files=_files(task, secrets),
        mounts=tuple(_mounts(task, config)),
        ports=tuple(sorted(exposed)),
        proxy_ports=proxied,
    )


def own_proxy_ports(kind: InteractiveKind, port: int) -> tuple[ProxyPort, ...]:
    """How the master reaches a task of such a kind. Raises ValueError: it has no port."""
    if kind != "COMMAND" and port <= 0:
        raise ValueError(f"a {kind.lower()} needs a port to listen at")
    match kind:
        case "NOTEBOOK":
            return (ProxyPort(port, is_default=True, is_tls=True),)
        case "SHELL":  # the keys protect it
            return (ProxyPort(port, is_tcp=True, is_unauthenticated=True, is_default=True),)
        case "TENSORBOARD":
            return (ProxyPort(port, is_default=True, is_keyed=True),)
        case "COMMAND":
            return ()


def _entrypoint(task: TaskToStart) -> tuple[str, ...]:
    match task.kind:
        case "COMMAND":
            return (*PROGRAM, task.kind.lower(), *task.arguments)
        case "SHELL":
            return (*PROGRAM, task.kind.lower(), str(task.port))
        case "TENSORBOARD":
            return (*PROGRAM, task.kind.lower(), *task.arguments)
        case "NOTEBOOK":
            return (*PROGRAM, task.kind.lower())


def _variables(task: TaskToStart, secrets: TaskSecrets, device_type: str) -> dict[str, str]:
    if task.kind == "NOTEBOOK":
        if not secrets.notebook_token:
            raise ValueError(f"notebook {task.task_id} has no token")
        return {
            "NOTEBOOK_PORT": str(task.port),
            "NOTEBOOK_CONFIG": json.dumps(mask_config(task.config), separators=(",", ":")),
            "NOTEBOOK_IDLE_TYPE": task.idle_type,
            "DET_NOTEBOOK_TOKEN": secrets.notebook_token,
        }
    if task.kind == "TENSORBOARD":
        return {
            "TENSORBOARD_PORT": str(task.port),
            "TF_CPP_MIN_LOG_LEVEL": "3",
            **tensorboard_sources.variables(task.sources, device_type),
        }
    return {}


def _files(task: TaskToStart, secrets: TaskSecrets) -> tuple[link.File, ...]:
    match task.kind:
        case "COMMAND":
            return ()
        case "SHELL":
            if secrets.ssh_keys is None:
                raise ValueError(f"shell {task.task_id} has no keys")
            files = shell_files(secrets.ssh_keys)
            return tuple(link.File(f.path, f.content, f.mode, f.is_root_owned) for f in files)
        case "TENSORBOARD":
            if not secrets.service_key:
                raise ValueError(f"tensorboard {task.task_id} has no key")
            content = tensorboard_sources.to_json(task.sources)
            return (
                link.File(tensorboard_sources.FILE, content, 0o600),
                link.File(SERVICE_KEY, secrets.service_key.encode(), 0o600),
            )
        case "NOTEBOOK":
            return _notebook_files(task, secrets)


def _notebook_files(task: TaskToStart, secrets: TaskSecrets) -> tuple[link.File, ...]:
    if not secrets.certificate or not secrets.certificate_key:
        raise ValueError(f"notebook {task.task_id} has no certificate")
    files = [
        link.File(f"{task_spec.RUN_DIR}/jupyter/jupyterCert.pem", secrets.certificate, 0o600),
        link.File(f"{task_spec.RUN_DIR}/jupyter/jupyterKey.key", secrets.certificate_key, 0o600),
    ]
    if task.work_dir == task_spec.WORK_DIR:  # anywhere else is the user's own
        files.append(link.File(f"{task.work_dir}/README.ipynb", WELCOME_NOTEBOOK, 0o644))
    return tuple(files)


def _mounts(task: TaskToStart, config: ContainerConfig) -> list[link.Mount]:
    found = mounts(config)
    found += [
        link.Mount(host, path, read_only=True, propagation=propagation)
        for host, path, propagation in tensorboard_sources.storage_mounts(task.sources)
    ]
    return found
