"""The containers of commands, notebooks, shells and TensorBoards: how they start. PURE.

Each kind's program is `determined.exec.entry KIND`. This module alone decides what it gets besides
the common parts. Source: task-contract 2.1, 2.3, 2.6, 3.1, 7.2 to 7.6.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from determined_master.domain.config.masking import mask_config
from determined_master.domain.interactive_task import tensorboard_sources
from determined_master.domain.interactive_task.tensorboard_sources import LogSource
from determined_master.domain.interactive_task.welcome import WELCOME_NOTEBOOK
from determined_master.domain.task import spec as task_spec
from determined_master.domain.task.containers import ContainerConfig, typed_containers
from determined_master.domain.task.kinds import TASK_KINDS, InteractiveKind
from determined_master.domain.task.proxy_port import ProxyPort
from determined_master.domain.task.ssh_files import KeyPair, shell_files
from determined_master.services.containers.options import mounts
from determined_wire import agent_link as link

PROGRAM = ("python3", "-m", "determined.exec.entry")
_NO_COMMAND = ("true",)
"""A command may be started without an entrypoint; it ends at once."""
SERVICE_KEY = f"{task_spec.RUN_DIR}/tensorboard/service-key"


class TaskSecrets(msgspec.Struct, frozen=True, kw_only=True):
    """Secrets of the task and its user; each kind has its own."""

    ssh_keys: KeyPair | None = None
    """Of a shell."""
    notebook_token: str = ""
    certificate: bytes = b""
    """PEM, for a notebook's server."""
    certificate_key: bytes = b""
    service_key: str = ""
    """Of a TensorBoard: each connection to it must present this key."""


class TaskToStart(msgspec.Struct, frozen=True, kw_only=True):
    """One task to start."""

    kind: InteractiveKind
    task_id: str
    config: Mapping[str, Any]
    """Completed, with its secrets."""
    arguments: Sequence[str] = ()
    """The command of a command, the arguments of a TensorBoard."""
    idle_type: str = ""
    """When a notebook counts as idle."""
    port: int = 0
    """The port of its server, chosen for it; a command has none."""
    work_dir: str = task_spec.WORK_DIR
    sources: Sequence[LogSource] = ()
    """Of a TensorBoard."""


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
        task: the task to start.
        secrets: those of its kind.
        device_type: of its slots; says which of the configuration's variables it gets.

    Raises:
        ValueError: the port or a secret that its kind needs is not given, or a TensorBoard has
            no sources.
    """
    config = typed_containers(task.config)
    proxied = (*own_proxy_ports(task.kind, task.port), *config.proxy_ports)
    exposed = config.exposed_ports() | {p.port for p in proxied}
    program = PROGRAMS[task.kind]
    own = program.variables(task, secrets, device_type)
    variables = {"DET_WORKDIR": task.work_dir, **own}
    if config.is_debug:
        variables["DET_DEBUG"] = "true"
    return InteractiveSpec(
        description=f"cmd-{task.task_id}",
        entrypoint=_entrypoint(task),
        environment={**variables, **config.variables_of(device_type)},
        files=program.files(task, secrets),
        mounts=tuple(_mounts(task, config)),
        ports=tuple(sorted(exposed)),
        proxy_ports=proxied,
    )


def own_proxy_ports(kind: InteractiveKind, port: int) -> tuple[ProxyPort, ...]:
    """How the master reaches a task of such a kind. Raises ValueError: it has no port."""
    server = TASK_KINDS[kind].server
    if server is None:
        return ()
    if port <= 0:
        raise ValueError(f"a {kind.lower()} needs a port to listen at")
    return (msgspec.structs.replace(server, port=port),)


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """The program of a kind of task: what `determined.exec.entry KIND` is started with."""

    arguments: Callable[[TaskToStart], Sequence[str]] = lambda task: ()
    variables: Callable[[TaskToStart, TaskSecrets, str], dict[str, str]] = lambda *_: {}
    files: Callable[[TaskToStart, TaskSecrets], tuple[link.File, ...]] = lambda *_: ()


def _entrypoint(task: TaskToStart) -> tuple[str, ...]:
    return (*PROGRAM, task.kind.lower(), *PROGRAMS[task.kind].arguments(task))


def _notebook_variables(
    task: TaskToStart, secrets: TaskSecrets, device_type: str
) -> dict[str, str]:
    if not secrets.notebook_token:
        raise ValueError(f"notebook {task.task_id} has no token")
    return {
        "NOTEBOOK_PORT": str(task.port),
        "NOTEBOOK_CONFIG": json.dumps(mask_config(task.config), separators=(",", ":")),
        "NOTEBOOK_IDLE_TYPE": task.idle_type,
        "DET_NOTEBOOK_TOKEN": secrets.notebook_token,
    }


def _tensorboard_variables(
    task: TaskToStart, secrets: TaskSecrets, device_type: str
) -> dict[str, str]:
    return {
        "TENSORBOARD_PORT": str(task.port),
        "TF_CPP_MIN_LOG_LEVEL": "3",
        **tensorboard_sources.variables(task.sources, device_type),
    }


def _shell_files(task: TaskToStart, secrets: TaskSecrets) -> tuple[link.File, ...]:
    if secrets.ssh_keys is None:
        raise ValueError(f"shell {task.task_id} has no keys")
    files = shell_files(secrets.ssh_keys)
    return tuple(link.File(f.path, f.content, f.mode, f.is_root_owned) for f in files)


def _tensorboard_files(task: TaskToStart, secrets: TaskSecrets) -> tuple[link.File, ...]:
    if not secrets.service_key:
        raise ValueError(f"tensorboard {task.task_id} has no key")
    content = tensorboard_sources.to_json(task.sources)
    return (
        link.File(tensorboard_sources.FILE, content, 0o600),
        link.File(SERVICE_KEY, secrets.service_key.encode(), 0o600),
    )


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
    stored = tensorboard_sources.storage_mounts(task.sources)
    found += [link.Mount(*msgspec.structs.astuple(mount)) for mount in stored]
    return found


PROGRAMS: Mapping[InteractiveKind, Program] = {
    "COMMAND": Program(arguments=lambda task: task.arguments or _NO_COMMAND),
    "NOTEBOOK": Program(variables=_notebook_variables, files=_notebook_files),
    "SHELL": Program(arguments=lambda task: (str(task.port),), files=_shell_files),
    "TENSORBOARD": Program(
        arguments=lambda task: task.arguments,
        variables=_tensorboard_variables,
        files=_tensorboard_files,
    ),
}
