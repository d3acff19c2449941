"""`det shell`: an SSH session in a container of the cluster."""

from __future__ import annotations

import argparse
import pathlib
import subprocess
import sys
import tempfile
from typing import Any, Mapping, Sequence

from determined.cli import connect, declare, errors
from determined.cli.declare import Command, arg, flag
from determined.cli.interactive import ids, kinds, launch, ssh_command, wait
from determined.common.api import Session

_HERE = "determined.cli.interactive.shell"
_KIND = kinds.SHELL
_SSH_OPTIONS = arg(
    "ssh_opts",
    nargs="*",
    help="options for ssh, and a command for it to run, behind `--`",
)
_SHOW = flag("--show-ssh-command", help="also print the ssh command, such as for an editor")

NOUN = Command(
    "shell",
    "manage shells",
    commands=(
        *kinds.shared_commands(_KIND),
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
    """Start a shell and open it when it is ready; ends as ssh does."""
    session, answer = launch.launch(args)
    shell = answer[_KIND.word]
    if args.detach:
        print(shell["id"])
        return 0
    launch.announce(_KIND, shell)
    return _open(session, shell["id"], args)


def open_one(args: argparse.Namespace) -> int:
    """Open a shell, once it is ready; ends as ssh does."""
    session = connect.session(args)
    return _open(session, ids.full(session, _KIND, args.shell_id), args)


def show_ssh_command(args: argparse.Namespace) -> None:
    """Print the command that reaches a shell, once it is ready; its key is kept for it."""
    session = connect.session(args)
    shell = _ready(session, ids.full(session, _KIND, args.shell_id))
    print(_kept_command(session, shell, args.ssh_opts), flush=True)


def _open(session: Session, task_id: str, args: argparse.Namespace) -> int:
    shell = _ready(session, task_id)
    if args.show_ssh_command:
        print(_kept_command(session, shell, args.ssh_opts), flush=True)
    with tempfile.TemporaryDirectory(prefix="determined-shell-") as folder:
        files = ssh_command.write_files(pathlib.Path(folder), shell, session.cert)
        has_terminal = sys.stdin.isatty()  # else what is read and written stays as it is
        command = ssh_command.words(
            session, shell, files, args.ssh_opts, has_terminal=has_terminal
        )
        status = _run(command)
    declare.warn(
        f"Shell {task_id} goes on: 'det shell open {task_id}' comes back to it, "
        f"'det shell kill {task_id}' ends it"
    )
    return status


def _run(command: Sequence[str]) -> int:
    """Run ssh to its end; interrupts are for what runs in it.

    Raises:
        CliError: there is no ssh on this machine.
    """
    try:
        process = subprocess.Popen(command)
    except FileNotFoundError:
        raise errors.CliError(
            f"there is no program '{command[0]}' on this machine: install the OpenSSH client"
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
    """A shell once it is ready; whose account it is, its agent may have decided."""
    found: Mapping[str, Any] = session.get(_KIND.path_of(task_id)).json()[_KIND.word]
    wait.until_ready(session, _KIND, found)
    found = session.get(_KIND.path_of(task_id)).json()[_KIND.word]
    return found
