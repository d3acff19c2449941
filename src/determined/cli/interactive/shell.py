"""`det shell`: SSH sessions in containers of the cluster."""

from __future__ import annotations

import argparse
import pathlib
import subprocess
import sys
import tempfile
from typing import Any, Mapping, Sequence

from determined.cli import connect, declare, errors
from determined.cli.declare import Command, arg, flag
from determined.cli.interactive import ids, kinds, launch, share, ssh_command, wait
from determined.common.api import Session

_HERE = "determined.cli.interactive.shell"
_KIND = kinds.SHELL
_SSH_OPTIONS = arg(
    "ssh_opts",
    nargs="*",
    help="options for ssh and a remote command, after `--`",
)
_SHOW = flag("--show-ssh-command", help="also print the ssh command, for example for an editor")

NOUN = Command(
    "shell",
    "manage shells",
    commands=(
        *kinds.shared_commands(_KIND),
        share.command(_KIND),
        Command(
            "open",
            "open shell",
            f"{_HERE}:open_one",
            (kinds.id_argument(_KIND), _SSH_OPTIONS, _SHOW),
        ),
        Command(
            "show-ssh-command|show_ssh_command",
            "print the ssh command of shell",
            f"{_HERE}:show_ssh_command",
            (kinds.id_argument(_KIND), _SSH_OPTIONS),
        ),
        Command(
            "start",
            "start shell",
            f"{_HERE}:start",
            (
                _SSH_OPTIONS,
                *kinds.launch_arguments(_KIND),
                kinds.detach_argument(),
                _SHOW,
            ),
        ),
    ),
)


def start(args: argparse.Namespace) -> int:
    """Start a shell, open it when it is ready, and return the exit status of ssh."""
    session, answer = launch.launch(args)
    shell = answer[_KIND.word]
    if args.detach:
        print(shell["id"])
        return 0
    launch.announce(_KIND, shell)
    return _open(session, shell["id"], args)


def open_one(args: argparse.Namespace) -> int:
    """Open a shell when it is ready, and return the exit status of ssh."""
    session = connect.session(args)
    return _open(session, ids.full(session, _KIND, args.shell_id), args)


def show_ssh_command(args: argparse.Namespace) -> None:
    """Print the ssh command of a shell when it is ready, and store the key that it uses."""
    session = connect.session(args)
    shell = _ready(session, ids.full(session, _KIND, args.shell_id))
    print(_kept_command(session, shell, args.ssh_opts), flush=True)


def _open(session: Session, task_id: str, args: argparse.Namespace) -> int:
    shell = _ready(session, task_id)
    if args.show_ssh_command:
        print(_kept_command(session, shell, args.ssh_opts), flush=True)
    with tempfile.TemporaryDirectory(prefix="determined-shell-") as folder:
        files = ssh_command.write_files(pathlib.Path(folder), shell, session.cert)
        has_terminal = sys.stdin.isatty()  # a pipe needs unmodified input and output
        command = ssh_command.words(
            session, shell, files, args.ssh_opts, has_terminal=has_terminal
        )
        status = _run(command)
    declare.warn(
        f"Shell {task_id} is still running. Reconnect: det shell open {task_id}. "
        f"Stop: det shell kill {task_id}"
    )
    return status


def _run(command: Sequence[str]) -> int:
    """Run ssh and return its exit status. ssh handles interrupts, this process ignores them.

    Raises:
        CliError: ssh is not installed.
    """
    try:
        process = subprocess.Popen(command)
    except FileNotFoundError:
        raise errors.CliError(
            f"the program '{command[0]}' is not installed: install the OpenSSH client"
        ) from None
    while True:
        try:
            status = process.wait()
        except KeyboardInterrupt:
            continue
        return status if status >= 0 else 128 - status


def _kept_command(session: Session, shell: Mapping[str, Any], options: Sequence[str]) -> str:
    folder = ssh_command.kept_folder(shell["id"])
    files = ssh_command.write_files(folder, shell, session.cert)
    return ssh_command.text_of(ssh_command.words(session, shell, files, options))


def _ready(session: Session, task_id: str) -> Mapping[str, Any]:
    """The shell, fetched again when it is ready: its agent may have changed its user."""
    task: Mapping[str, Any] = session.get(_KIND.path_of(task_id)).json()[_KIND.word]
    wait.until_ready(session, _KIND, task)
    task = session.get(_KIND.path_of(task_id)).json()[_KIND.word]
    return task
