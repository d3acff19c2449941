"""The published client: installed once into a virtual environment of its own, and run."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

from tests.environments import environment
from tests.warm import Warm

MODEL = Path(__file__).with_name("model")
VERSION = "0.38.1"
NEEDED = (
    *("analytics-python", "appdirs", "argcomplete", "certifi", "filelock", "gitpython", "lomond"),
    *("numpy", "packaging", "pathspec", "psutil", "pyOpenSSL", "python-dateutil"),
    *("requests<2.32", "ruamel.yaml", "tabulate", "termcolor", "tqdm"),
)
"""Of its dependencies those that its commands and its SDK load.

The others (clients of clouds, Matplotlib) are two thirds of all that pip would install.
"""
COMMAND_LIMIT_S = 90
WARNING = "is less than master version"


def install() -> Path:
    """The interpreter of an environment that has the package.

    Raises:
        NotInstalled: the registry does not answer, or the package does not run here.
    """
    probe = ["-m", "determined.cli", "version", "--help"]
    return environment("compat", NEEDED, probe, alone=[f"determined=={VERSION}"])


@dataclass(frozen=True)
class Said:
    """What a command printed."""

    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)

    def tables(self) -> list[list[dict[str, str]]]:
        """The CSV tables of the output: each begins after an empty line and perhaps a title."""
        found = []
        for part in self.out.strip().split("\n\n"):
            rows = list(csv.reader(io.StringIO(part)))
            if rows and len(rows[0]) == 1 and rows[0][0].endswith(":"):
                rows = rows[1:]
            # Rows of workloads end where their last value stands.
            found.append([dict(zip_longest(rows[0], row, fillvalue="")) for row in rows[1:]])
        return found

    def rows(self) -> list[dict[str, str]]:
        """The one table, which has rows."""
        [table] = self.tables()
        assert table, f"an empty table: {self.out}"
        return table


class Client:
    """The command line and the SDK of one user, who has a home of their own."""

    def __init__(self, python: Path, home: Path, master: str) -> None:
        self.python = python
        self.home = home
        home.mkdir(exist_ok=True)
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("DET_", "PYTHON"))}
        self.environment = {
            **kept,
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home / ".config"),
            "XDG_CACHE_HOME": str(home / ".cache"),
            "DET_MASTER": master,
        }

    def det(self, *words: object, typed: str = "", code: int = 0) -> Said:
        """Run one command, which must end with this exit code and tell of no failure."""
        command = ["determined.cli", *map(str, words)]
        done = _warm(self.python).run(command, self.environment, self.home, typed, COMMAND_LIMIT_S)
        said, ended = _said(done), done.returncode
        shown = f"det {words} ended with {ended}: {said.out[-2000:]} {said.err[-2000:]}"
        assert ended == code, shown
        if code == 0:
            assert "Failed" not in said.err, shown
            assert "Traceback" not in said.err, shown
            assert "Not Implemented" not in said.out + said.err, shown
        return said

    def script(self, name: str, *words: object) -> Any:
        """Run a script of this directory; the JSON that it prints last."""
        # A home of its own: a script that logs out must not log the command line out.
        apart = self.home / "scripts"
        apart.mkdir(exist_ok=True)
        homes = {
            "HOME": str(apart),
            "XDG_CONFIG_HOME": str(apart / ".config"),
            "XDG_CACHE_HOME": str(apart / ".cache"),
        }
        done = subprocess.run(
            [str(self.python), Path(__file__).with_name(name), *map(str, words)],
            env={**self.environment, **homes},
            cwd=self.home,
            input="",
            capture_output=True,
            text=True,
            timeout=COMMAND_LIMIT_S,
            check=False,
            start_new_session=True,
        )
        said = _said(done)
        assert done.returncode == 0, said.err[-3000:]
        return json.loads(said.out.splitlines()[-1])


@cache
def _warm(python: Path) -> Warm:
    # Each request with a body imports NumPy, which takes longer than the request.
    return Warm(python, "determined.cli.cli", later=["numpy"])


def _said(done: subprocess.CompletedProcess[str]) -> Said:
    lines = [line for line in done.stderr.splitlines(True) if WARNING not in line]
    return Said(done.stdout, "".join(lines))


def shown(time: str) -> str:
    """A time of the API as the client's tables show it."""
    return datetime.fromisoformat(time).strftime("%Y-%m-%d %H:%M:%S%z")
