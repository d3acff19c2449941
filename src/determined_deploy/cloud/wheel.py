"""The files that machines in a cloud install from: the installed version, and what it needs."""

from __future__ import annotations

import hashlib
import pathlib
import subprocess
import sys
from typing import List, NamedTuple, Optional, Sequence, Tuple

from determined.cli import errors

AGENT_EXTRAS = ("base", "agent", "storage")
"""What agents install: with a wheelhouse, they get it from their master."""


class Keys(NamedTuple):
    """Where the files lie below `deploy/` in the bucket."""

    wheel: str
    wheelhouse: str = ""
    """Of an archive of wheels; empty where machines use pip's package index."""


class Uploads(NamedTuple):
    """The files, on this machine."""

    wheel: pathlib.Path
    wheelhouse: Optional[pathlib.Path]

    def keys(self) -> Keys:
        """Where they will lie."""
        return Keys(_key_of(self.wheel), _key_of(self.wheelhouse) if self.wheelhouse else "")

    def files(self) -> List[Tuple[pathlib.Path, str]]:
        """Each with its key."""
        both = zip((self.wheel, self.wheelhouse), self.keys())
        return [(path, key) for path, key in both if path is not None]


def make_uploads(directory: str, wheelhouse: str, extras: Sequence[str]) -> Uploads:
    """The files for a cluster, in a directory.

    Args:
        directory: for these files.
        wheelhouse: a directory of wheels, or empty.
        extras: of the master's machine.

    Raises:
        CliError: a package of the installed version is missing, or one that machines need.
    """
    wheel = build_wheel(directory)
    if not wheelhouse:
        return Uploads(wheel, None)
    archive = pathlib.Path(directory, "wheelhouse.tar")
    words = [wheelhouse, str(archive), *dict.fromkeys((*AGENT_EXTRAS, *extras))]
    _output_of("wheelhouse", *words, failure="--wheelhouse")
    return Uploads(wheel, archive)


def build_wheel(directory: str, may_lack_web_ui: bool = False) -> pathlib.Path:
    """A wheel of the installed version, in a directory.

    Raises:
        CliError: a package of it, or the web UI, is not installed.
    """
    failure = "no wheel can be made of this installation"
    words = [directory, *["--may-lack-web-ui"] * may_lack_web_ui]
    return pathlib.Path(_output_of("wheel", *words, failure=failure).strip())


def _output_of(module: str, *words: str, failure: str) -> str:
    command = [sys.executable, "-m", f"determined_wire.{module}", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise errors.CliError(f"{failure}: {done.stderr.strip()[-500:]}")
    return done.stdout


def _key_of(path: pathlib.Path) -> str:
    """Where a file lies below `deploy/` in the bucket.

    Another content has another place, so a changed file changes the machine's script. The hash
    in it is checked before the installation, as what it has then runs as root.
    """
    return f"{hashlib.sha256(path.read_bytes()).hexdigest()}/{path.name}"
