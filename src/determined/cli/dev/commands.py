"""`det dev`: calls of the REST API with the login of `det`."""

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
                        arg("name", help="name of the function, or a unique part of it"),
                        flag(
                            "-y",
                            "--auto-confirm",
                            help="accept the only function with a matching name",
                        ),
                        arg(
                            "args",
                            nargs="*",
                            help="arguments in order or as name=value; bodies and lists as JSON",
                        ),
                    ),
                ),
                Command(
                    "list|ls",
                    "list the functions of the bindings",
                    f"{_CALLS}:list_calls",
                    (
                        flag(
                            "--show-unusable",
                            help="accepted for older scripts: every function is usable",
                        ),
                    ),
                    is_default=True,
                ),
            ),
        ),
        Command(
            "curl|c",
            "run curl with the login and the master address of det",
            f"{_HERE}:curl",
            (
                flag("-x", help="print the command, including the token, before it runs"),
                arg("path", help="path of the request, such as /api/v1/me"),
                arg("curl_args", nargs=argparse.REMAINDER, help="more arguments for curl"),
            ),
        ),
    ),
)


def auth_token(args: argparse.Namespace) -> None:
    print(connect.session(args).token)


def curl(args: argparse.Namespace) -> int:
    """Run curl and return its exit status.

    Raises:
        CliError: curl is not installed, or the path is a full URL.
    """
    parts = urlsplit(args.path)
    if parts.scheme or parts.netloc:
        raise errors.CliError(
            f"{args.path!r} is a full URL: give the path alone, and the master's address "
            "with -m or DET_MASTER"
        )
    if shutil.which("curl") is None:
        raise errors.CliError("curl is not installed: install it")
    session = connect.session(args)
    header = f"Authorization: Bearer {session.token}"
    rest = [f"{session.master}/{args.path.lstrip('/')}", *_tls_options(session.master)]
    rest += ["--silent", "--globoff", *args.curl_args]
    if args.x:
        print(shlex.join(["curl", "-H", header, *rest]), flush=True)
    # Pass the token by a pipe: every user of the machine can read command lines.
    reader, writer = os.pipe()
    with os.fdopen(writer, "w", encoding="utf-8") as pipe:
        pipe.write(f'header = "{header}"\n')
    try:
        command = ["curl", "--config", f"/dev/fd/{reader}", *rest]
        return subprocess.run(command, pass_fds=[reader], check=False).returncode
    finally:
        os.close(reader)


def _tls_options(master: str) -> List[str]:
    """The options that make curl trust the same certificates as `det`."""
    cert = trust.cert_of(master)
    if cert is None or not (cert.noverify or cert.cert_pem):
        return []
    if cert.noverify:
        return ["--insecure"]
    return ["--cacert", os.environ.get("DET_MASTER_CERT_FILE") or str(trust.file_of(master))]
