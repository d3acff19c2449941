"""The kinds of interactive tasks, and the commands that they share."""

from __future__ import annotations

import argparse
import dataclasses
from typing import Tuple, Union
from urllib.parse import quote

from determined.cli import log_stream, submission
from determined.cli.declare import Arg, Command, OneOf, arg, flag

_CONTROL = "determined.cli.interactive.control"
_LIST = "determined.cli.interactive.listing"
SORT_KEYS = (
    "id",
    "username",
    "description",
    "state",
    "exitStatus",
    "resourcePool",
    "workspaceName",
    "startTime",
)
OUTPUT_FORMATS = OneOf(
    (
        flag("--json", help="Output in JSON format"),
        flag("--csv", help="Output in CSV format"),
    )
)


@dataclasses.dataclass(frozen=True)
class TaskKind:
    """One kind of interactive task.

    `word` is its noun and its key in the REST API; `title` is its name in messages.
    """

    word: str
    title: str

    @property
    def many(self) -> str:
        """The key of a list of them in the REST API."""
        return f"{self.word}s"

    @property
    def path(self) -> str:
        """The route of the list."""
        return f"/api/v1/{self.word}s"

    @property
    def id_name(self) -> str:
        """The name of the ID argument."""
        return f"{self.word}_id"

    def path_of(self, task_id: str) -> str:
        """The route of one task."""
        return f"{self.path}/{quote(task_id, safe='')}"


COMMAND = TaskKind("command", "command")
NOTEBOOK = TaskKind("notebook", "notebook")
SHELL = TaskKind("shell", "shell")
TENSORBOARD = TaskKind("tensorboard", "TensorBoard")
_BY_NOUN = {kind.word: kind for kind in (COMMAND, NOTEBOOK, SHELL, TENSORBOARD)}
_BY_NOUN["cmd"] = COMMAND


def kind_from_args(args: argparse.Namespace) -> TaskKind:
    """The kind that the noun of the command line names."""
    return _BY_NOUN[args.command]


def id_argument(kind: TaskKind) -> Arg:
    """The argument that takes the ID of a task."""
    return arg(kind.id_name, help=f"{kind.title} ID, or a unique prefix of it")


def shared_commands(kind: TaskKind) -> Tuple[Command, ...]:
    """The commands of every kind, besides those that start and open a task."""
    name = kind.title
    one = id_argument(kind)
    logs = (arg("task_id", help=one.options["help"]), *log_stream.arguments(of_task=True))
    force = flag("-f", "--force", help="continue past failures")
    several = arg(kind.id_name, nargs="+", help=one.options["help"])
    priority = Command(
        "priority",
        f"set {name} priority",
        f"{_CONTROL}:set_priority",
        (one, arg("priority", type=int, help="from 1 (most urgent) to 99")),
    )
    return (
        Command("config", f"display {name} config", f"{_CONTROL}:config", (one,)),
        Command(
            "describe", f"display {name} metadata", f"{_LIST}:describe", (one, OUTPUT_FORMATS)
        ),
        Command("kill", f"kill {name}", f"{_CONTROL}:kill", (several, force)),
        Command("list|ls", f"list {name}s", f"{_LIST}:list_all", _of_list(kind), is_default=True),
        Command("logs", f"fetch {name} logs", f"{_CONTROL}:logs", logs),
        Command("set", f"set {name} attributes", commands=(priority,)),
    )


def launch_arguments(
    kind: TaskKind, *, with_volumes: bool = True
) -> Tuple[Union[Arg, OneOf], ...]:
    """The options of the command that starts a task. A TensorBoard has no volumes."""
    template = arg("--template", help=f"template to apply to the {kind.title}'s config")
    volume = arg(
        "-v",
        "--volume",
        action="append",
        default=[],
        help="<host path>:<container path>: mount a directory of the agent's machine into the "
        "task; may be repeated",
    )
    return (
        arg("--config-file", help=f"{kind.title} config file (.yaml)"),
        arg("-w", "--workspace-name", help="workspace to start it in"),
        *((volume,) if with_volumes else ()),
        *submission.arguments(),
        arg(
            "--config",
            action="append",
            default=[],
            help="override a setting of the file, as `key=value`; dots in the key name nested "
            "keys, commas in the value separate list items, and the value may be JSON",
        ),
        template,
    )


def detach_argument() -> Arg:
    """The option to start a task and not wait for it."""
    return flag("-d", "--detach", help="print the ID and exit")


def _of_list(kind: TaskKind) -> Tuple[Union[Arg, OneOf], ...]:
    return (
        arg("--sort-by", choices=SORT_KEYS, default="startTime", help="sort by this field"),
        arg("--order-by", choices=("asc", "desc"), default="asc", help="sort order"),
        flag("-q", "--quiet", help="only print the IDs"),
        arg("-w", "--workspace-name", help="list only this workspace"),
        flag("--all", "-a", help=f"show all {kind.title}s (including other users')"),
        OUTPUT_FORMATS,
    )
