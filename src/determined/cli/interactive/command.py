"""`det command`: runs a program on the cluster and prints its output."""

from __future__ import annotations

import argparse
import sys
import time
from typing import List

from determined.cli import declare, errors, log_stream, publish
from determined.cli.declare import Command, arg
from determined.cli.interactive import kinds, launch, wait
from determined.cli.output import show
from determined.common.api import BaseSession

_HERE = "determined.cli.interactive.command"
_KIND = kinds.COMMAND
_INTERRUPTED = 130
_END_LIMIT_S = 60.0

NOUN = Command(
    "command|cmd",
    "manage commands",
    commands=(
        *kinds.shared_commands(_KIND),
        Command(
            "run",
            "run command",
            f"{_HERE}:run",
            (
                arg(
                    "entrypoint",
                    nargs=argparse.REMAINDER,
                    help="program and arguments; a shell interprets a single word",
                ),
                *kinds.launch_arguments(_KIND),
                publish.argument("the command"),
                kinds.detach_argument(),
            ),
        ),
    ),
)


def run(args: argparse.Namespace) -> int:
    """Run a program, print its output, and return its exit status.

    An interrupt leaves the program running and prints how to reconnect.

    Raises:
        CliError: the program ended without an exit status, such as by a kill.
    """
    entrypoint = _entrypoint(args.entrypoint)
    if not entrypoint and not args.config_file and not args.config:
        raise errors.CliError("nothing to run: give a program and its arguments")
    session, answer = launch.launch(args, entrypoint=entrypoint)
    task = answer[_KIND.word]
    task_id = task["id"]
    if args.detach:
        print(task_id)
        return 0
    launch.announce(_KIND, task)
    with publish.open_ports(session, task_id, launch.published(args)):
        is_complete = log_stream.print_task(session, task_id, log_stream.everything(of_task=True))
    if not is_complete:
        declare.warn(
            f"Command {task_id} is still running. Reconnect: det command logs -f {task_id}. "
            f"Stop: det command kill {task_id}"
        )
        return _INTERRUPTED
    sys.stdout.flush()
    return _status_of(session, task_id)


def _entrypoint(words: List[str]) -> List[str]:
    return words[1:] if words[:1] == ["--"] else words


def _status_of(session: BaseSession, task_id: str) -> int:
    """The exit status of the program, once the task has ended.

    Raises:
        CliError: the program has no exit status; the text says how the task ended.
    """
    deadline_s = time.monotonic() + _END_LIMIT_S
    allocation = wait.allocation_of(session, task_id)
    while allocation is None or show.state(allocation["state"]) != "TERMINATED":
        if time.monotonic() > deadline_s:
            raise errors.CliError(
                f"the log of command {task_id} has ended, but the command has not"
            )
        time.sleep(0.1)
        allocation = wait.allocation_of(session, task_id)
    status = allocation.get("statusCode")
    if status is None:
        raise errors.CliError(f"command {task_id} ended: {allocation.get('exitReason')}")
    return int(status) if 0 <= status < 256 else 1
