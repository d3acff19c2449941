"""The kinds of tasks: everything that differs between them and is a plain fact. PURE.

A new kind of interactive task is one record here, its program in
`services/containers/interactive_specs.py`, and its routes in `api/tasks`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, cast

import msgspec

from determined_master.domain.task.proxy_port import ProxyPort

TaskType = Literal[
    "TRIAL", "NOTEBOOK", "SHELL", "COMMAND", "TENSORBOARD", "CHECKPOINT_GC", "GENERIC"
]
InteractiveKind = Literal["COMMAND", "NOTEBOOK", "SHELL", "TENSORBOARD"]
ConfigKind = Literal["command", "notebook", "shell", "tensorboard", "generic"]
"""Tasks that have a configuration of their own."""
TaskGroup = Literal["trial", "generic", "interactive", "checkpoint_gc"]


class TaskKind(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of task."""

    type: TaskType
    group: TaskGroup
    """Tasks of a group have the same rows, events and way to build their containers."""
    title: str = ""
    """In the description of a task whose user gives none."""
    server: ProxyPort | None = None
    """How the master reaches its own server; the port is chosen from `server_ports`."""
    server_ports: range | None = None
    """Apart from those of other kinds and of trials."""
    runs_user_command: bool = False
    """Whether its configuration names the command."""
    needs_entrypoint: bool = False
    """Whether it must name one; a task that need not ends at once without it."""
    has_slots: bool = True
    names_itself: bool = False
    """Whether its description is generated whatever its user says."""
    is_watched: bool = False
    """Whether it ends when it is unused."""
    reports_use: bool = False
    """Whether its own program reports when it is used."""
    has_own_token: bool = False
    """Whether its server asks for a token of its own."""
    has_ssh_keys: bool = False
    """Whether its user logs in by ssh."""
    is_only_shown: bool = False
    """Whether permission to see it is enough to open its pages; others need control of it."""
    is_service: bool = True
    """Whether its log says when it can be reached."""
    has_terms: bool = True
    """Whether the rows of its job have its priority, weight and position."""

    @property
    def is_shared_by_name(self) -> bool:
        """Whether its owner decides who else may enter it: it runs code as its owner."""
        return self.has_own_token or self.has_ssh_keys

    @property
    def word(self) -> str:
        """Its name in configurations, paths and error texts."""
        return self.type.lower()

    @property
    def config_kind(self) -> ConfigKind:
        """Its name among configurations.

        Raises:
            ValueError: such tasks have no configuration of their own.
        """
        if self.group not in ("interactive", "generic"):
            raise ValueError(f"a task of type {self.type} has no configuration of its own")
        return cast(ConfigKind, self.word)


_ALL = (
    TaskKind(type="TRIAL", group="trial", is_only_shown=True, is_service=False),
    TaskKind(
        type="GENERIC",
        group="generic",
        runs_user_command=True,
        needs_entrypoint=True,
        is_service=False,
    ),
    TaskKind(type="CHECKPOINT_GC", group="checkpoint_gc", has_terms=False),
    TaskKind(type="COMMAND", group="interactive", title="Command", runs_user_command=True),
    TaskKind(
        type="NOTEBOOK",
        group="interactive",
        title="JupyterLab",
        server=ProxyPort(0, is_default=True, is_tls=True),
        server_ports=range(2900, 3199),
        is_watched=True,
        reports_use=True,
        has_own_token=True,
    ),
    TaskKind(
        type="SHELL",
        group="interactive",
        title="Shell",
        server=ProxyPort(0, is_tcp=True, admits_readers=True, is_default=True),
        server_ports=range(3200, 3499),
        has_ssh_keys=True,
    ),
    TaskKind(
        type="TENSORBOARD",
        group="interactive",
        title="TensorBoard",
        server=ProxyPort(0, is_default=True, is_keyed=True),
        server_ports=range(2600, 2899),
        has_slots=False,
        names_itself=True,
        is_watched=True,
        is_only_shown=True,
    ),
)
TASK_KINDS: Mapping[str, TaskKind] = {kind.type: kind for kind in _ALL}
"""By type, as rows and requests name it."""
