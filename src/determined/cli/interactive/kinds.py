"""The kinds of interactive tasks, and the commands that all of them have."""

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

    `word` is its noun, and its key in answers; `title` is what sentences call it.
    """

    word: str
    title: str

    @property
    def many(self) -> str:
        """Its key in the answers of lists."""
        return f"{self.word}s"

    @property
    def path(self) -> str:
        """The route of all of them."""
        return f"/api/v1/{self.word}s"

    @property
    def id_name(self) -> str:
        """The argument that names one."""
        return f"{self.word}_id"

    def path_of(self, task_id: str) -> str:
        """The route of one."""
        return f"{self.path}/{quote(task_id, safe='')}"


COMMAND = TaskKind("command", "command")
NOTEBOOK = TaskKind("notebook", "notebook")
SHELL = TaskKind("shell", "shell")
TENSORBOARD = TaskKind("tensorboard", "TensorBoard")
_BY_NOUN = {kind.word: kind for kind in (COMMAND, NOTEBOOK, SHELL, TENSORBOARD)}
_BY_NOUN["cmd"] = COMMAND


def kind_from_args(args: argparse.Namespace) -> TaskKind:
    """The kind whose noun a command line names."""
    return _BY_NOUN[args.command]


def id_argument(kind: TaskKind) -> Arg:
    """The argument that names one task of a kind."""
    return arg(kind.id_name, help=f"{kind.title} ID, or the beginning of one")


def shared_commands(kind: TaskKind) -> Tuple[Command, ...]:
    """What each kind's noun has beside what starts and opens it."""
    name = kind.title
    one = id_argument(kind)
    logs = (arg("task_id", help=one.options["help"]), *log_stream.arguments(of_task=True))
    force = flag("-f", "--force", help="go on behind those that cannot be killed")
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
    """The options of the command that starts one; a TensorBoard has no volumes, no template."""
    template = arg("--template", help=f"template that the {kind.title}'s config is laid over")
    volume = arg(
        "-v",
        "--volume",
        action="append",
        default=[],
        help="<host path>:<container path>: a directory of the agent's machine, and where the "
        "task sees it; repeat for several",
    )
    return (
        arg("--config-file", help=f"{kind.title} config file (.yaml)"),
        arg("-w", "--workspace-name", help="workspace that it belongs to"),
        *((volume,) if with_volumes else ()),
        *submission.arguments(),
        arg(
            "--config",
            action="append",
            default=[],
            help="a setting over those of the file, as `key=value`; dots in the key name nested "
            "keys, commas in the value make a list, and JSON is read as such",
        ),
        *((template,) if with_volumes else ()),
    )


def detach_argument() -> Arg:
    """The option to start without waiting."""
    return flag("-d", "--detach", help="print the ID and leave it to itself")


def _of_list(kind: TaskKind) -> Tuple[Union[Arg, OneOf], ...]:
    return (
        arg("--sort-by", choices=SORT_KEYS, default="startTime", help="sort by this field"),
        arg("--order-by", choices=("asc", "desc"), default="asc", help="in this order"),
        flag("-q", "--quiet", help="only print the IDs"),
        arg("-w", "--workspace-name", help="only those of this workspace"),
        flag("--all", "-a", help=f"show all {kind.title}s (including other users')"),
        OUTPUT_FORMATS,
    )
