"""The wheel of the installed version, which machines in a cloud install."""

from __future__ import annotations

import hashlib
import pathlib
import subprocess
import sys

from determined.cli import errors


def build_wheel(directory: str, may_lack_web_ui: bool = False) -> pathlib.Path:
    """A wheel of the installed version, in a directory.

    Raises:
        CliError: a package of it, or the web UI, is not installed.
    """
    failure = "no wheel can be made of this installation"
    words = [directory, *["--may-lack-web-ui"] * may_lack_web_ui]
    return pathlib.Path(_output_of("wheel", *words, failure=failure).strip())


def locked(*extras: str) -> str:
    """The packages that extras need, with versions and hashes, in pip's form.

    Raises:
        CliError: the list is not installed.
    """
    failure = "this installation has no list of packages with hashes"
    return _output_of("locked", *extras, failure=failure)


def _output_of(module: str, *words: str, failure: str) -> str:
    command = [sys.executable, "-m", f"determined_wire.{module}", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise errors.CliError(f"{failure}: {done.stderr.strip()[-500:]}")
    return done.stdout


def key_of(wheel: pathlib.Path) -> str:
    """Where a wheel lies below `deploy/` in the bucket.

    Another content has another place, so a changed wheel changes the machine's script. The hash
    in it is checked before the installation, as the wheel then runs as root.
    """
    return f"{hashlib.sha256(wheel.read_bytes()).hexdigest()}/{wheel.name}"
