"""`det dev`: the REST API from the command line, with the login that `det` has."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
from typing import List
from urllib.parse import urlsplit

from determined.cli import connect, errors, trust
from determined.cli.declare import Command, arg, flag

_HERE = "determined.cli.dev.commands"
_CALLS = "determined.cli.dev.bindings"

NOUN = Command(
    "dev",
    "call the REST API",
    commands=(
        Command("auth-token", "print the token that commands use", f"{_HERE}:auth_token"),
        Command(
            "bindings|b",
            "call functions of determined.common.api.bindings",
            commands=(
                Command(
                    "call|c",
                    "call a function of the bindings",
                    f"{_CALLS}:call",
                    (
                        arg("name", help="name of the function, or a part that only it has"),
                        flag("-y", "--auto-confirm", help="take the one whose name is like it"),
                        arg(
                            "args",
                            nargs="*",
                            help="arguments in order or as name=value; bodies and lists are JSON",
                        ),
                    ),
                ),
                Command(
                    "list|ls",
                    "list the functions of the bindings",
                    f"{_CALLS}:list_calls",
                    (flag("--show-unusable", help="accepted for older scripts: all are usable"),),
                    is_default=True,
                ),
            ),
        ),
        Command(
            "curl|c",
            "run curl with the login and the address of the master",
            f"{_HERE}:curl",
            (
                flag("-x", help="print the command before it runs, with the token"),
                arg("path", help="path of the request, such as /api/v1/me"),
                arg("curl_args", nargs=argparse.REMAINDER, help="further arguments of curl"),
            ),
        ),
    ),
)


def auth_token(args: argparse.Namespace) -> None:
    """Print the token of the user that commands run as."""
    print(connect.session(args).token)


def curl(args: argparse.Namespace) -> int:
    """Run curl; its exit status.

    Raises:
        CliError: there is no curl, or the path is a whole address.
    """
    if shutil.which("curl") is None:
        raise errors.CliError("there is no curl on this machine: install it")
    parts = urlsplit(args.path)
    if parts.scheme or parts.netloc:
        raise errors.CliError(
            f"{args.path!r} is a whole address: give the path alone, and the master's address "
            "with -m or DET_MASTER"
        )
    session = connect.session(args)
    header = f"Authorization: Bearer {session.token}"
    rest = [f"{session.master}/{args.path.lstrip('/')}", *_trusting(session.master)]
    rest += ["--silent", "--globoff", *args.curl_args]
    if args.x:
        print(shlex.join(["curl", "-H", header, *rest]), flush=True)
    # By a pipe: what stands on a command line can be read by everybody on the machine.
    reader, writer = os.pipe()
    with os.fdopen(writer, "w", encoding="utf-8") as pipe:
        pipe.write(f'header = "{header}"\n')
    try:
        command = ["curl", "--config", f"/dev/fd/{reader}", *rest]
        return subprocess.run(command, pass_fds=[reader], check=False).returncode
    finally:
        os.close(reader)


def _trusting(master: str) -> List[str]:
    """What tells curl whom to trust, as `det` does."""
    cert = trust.cert_of(master)
    if cert is None or not (cert.noverify or cert.cert_pem):
        return []
    if cert.noverify:
        return ["--insecure"]
    return ["--cacert", os.environ.get("DET_MASTER_CERT_FILE") or str(trust.file_of(master))]
