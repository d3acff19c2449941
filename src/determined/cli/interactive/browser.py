"""Starting and opening tasks with a web page: notebooks and TensorBoards."""

from __future__ import annotations

import argparse
import webbrowser
from typing import Any, Mapping

from determined.cli import connect, declare, log_stream, publish
from determined.cli.declare import Arg, flag
from determined.cli.interactive import ids, kinds, launch, wait
from determined.cli.interactive.kinds import TaskKind
from determined.common.api import Session


def no_browser_argument() -> Arg:
    """The option `--no-browser`."""
    return flag("--no-browser", help="print the address when it is ready, but open no browser")


def start(args: argparse.Namespace, more: Mapping[str, Any]) -> None:
    """Start a task, and open its page when it is ready.

    With published ports, it then follows the task's log until the task ends. An interrupt stops
    the command and leaves the task running.

    Args:
        args: holds the arguments of `kinds.launch_arguments`, `detach_argument`,
            `no_browser_argument`, and optionally `publish.argument`.
        more: extra fields of the request of this kind.
    """
    kind = kinds.kind_from_args(args)
    session, answer = launch.launch(args, more=more)
    task = answer[kind.word]
    if args.detach:
        print(task["id"])
        return
    launch.announce(kind, task)
    ports = launch.published(args)
    with publish.open_ports(session, task["id"], ports):
        _open(session, kind, task, is_wanted=not args.no_browser)
        if not ports:
            return
        everything = log_stream.everything(of_task=True)
        if not log_stream.print_task(session, task["id"], everything):
            declare.warn(
                f"The {kind.title} is still running, but its ports are closed. "
                f"Stop: det {kind.word} kill {task['id']}"
            )


def open_one(args: argparse.Namespace) -> None:
    """Wait until a task is ready, and open its page."""
    kind = kinds.kind_from_args(args)
    session = connect.session(args)
    task_id = ids.full(session, kind, getattr(args, kind.id_name))
    task = session.get(kind.path_of(task_id)).json()[kind.word]
    _open(session, kind, task, is_wanted=True)


def _open(session: Session, kind: TaskKind, task: Mapping[str, Any], *, is_wanted: bool) -> None:
    wait.until_ready(session, kind, task)
    address = f"{session.master}{task['serviceAddress']}"
    print(f"{wait.capital(kind.title)} is running at: {address}", flush=True)
    if is_wanted and not webbrowser.open(address):
        declare.warn("No browser is available here: open the address yourself")
