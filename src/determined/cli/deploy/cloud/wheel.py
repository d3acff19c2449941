"""The wheel of the installed version, which machines in a cloud install."""

from __future__ import annotations

import hashlib
import pathlib
import subprocess
import sys

from determined.cli import errors


def build_wheel(directory: str) -> pathlib.Path:
    """A wheel of the installed version, in a directory.

    Raises:
        CliError: a package of it is not installed.
    """
    command = [sys.executable, "-m", "determined_wire.wheel", directory]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise errors.CliError(f"no wheel can be made of this installation: {done.stderr[-500:]}")
    return pathlib.Path(done.stdout.strip())


def key_of(wheel: pathlib.Path) -> str:
    """Where a wheel lies below `deploy/` in the bucket.

    Another content has another place, so a changed wheel changes the machine's script. The hash
    in it is checked before the installation, as the wheel then runs as root.
    """
    return f"{hashlib.sha256(wheel.read_bytes()).hexdigest()}/{wheel.name}"
