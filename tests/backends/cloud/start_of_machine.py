"""A machine that runs its start script: a directory for a root, and stubs of what it calls."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

_STUB = """#!/bin/bash
# Records its arguments and those variables that a child of the script would hand on.
printf '%s\\0' "$@" >>{record}
printf '\\n' >>{record}
{body}
"""

_HANGS_S = 600.0
"""No start takes that long: some install packages, which a busy machine does in minutes."""


@dataclass
class Machine:
    """What a start script may call, and what it has done."""

    directory: Path

    def __post_init__(self) -> None:
        self.root = self.directory / "root"
        self.environment: dict[str, str] = {}
        self.stubs = self.directory / "stubs"
        self.stubs.mkdir(parents=True)
        self.stub("docker", 'case "$1" in version) exit 0 ;; esac')
        self.stub("sleep")
        self.stub("curl", 'case "$*" in *--config*) cat >/dev/null ;; esac; echo unknown')

    def stub(self, name: str, body: str = "") -> None:
        """A command that does that, found before the real one."""
        path = self.stubs / name
        path.write_text(_STUB.format(record=self.stubs / f"{name}.calls", body=body))
        path.chmod(0o755)

    def calls(self, name: str) -> list[list[str]]:
        """The arguments of each call of a stub."""
        record = self.stubs / f"{name}.calls"
        lines = record.read_text().split("\0\n") if record.exists() else []
        return [line.split("\0") for line in lines if line]

    def run(self, script: str) -> subprocess.CompletedProcess[str]:
        """Run a script as the machine's start does."""
        environment = {
            "PATH": f"{self.stubs}{os.pathsep}{os.environ['PATH']}",
            "DETERMINED_ROOT": str(self.root),
            **self.environment,
        }
        return subprocess.run(
            ["bash", "-s"],
            input=script, env=environment, capture_output=True, text=True, check=False,
            timeout=_HANGS_S,
        )  # fmt: skip

    def container(self) -> Container:
        """The agent's container, as Docker was asked for it."""
        [run] = [call for call in self.calls("docker") if call[0] == "run"]
        return Container(run)


class Container:
    """One `docker run`."""

    def __init__(self, arguments: list[str]) -> None:
        self.arguments = arguments
        self.image = arguments[-1]

    def all_of(self, option: str) -> list[str]:
        """The values of an option that may be repeated."""
        pairs = zip(self.arguments, self.arguments[1:], strict=False)
        return [value for name, value in pairs if name == option]

    @property
    def variables(self) -> dict[str, str]:
        """What the agent is told."""
        return dict(pair.split("=", 1) for pair in self.all_of("--env"))

    @property
    def mounts(self) -> dict[str, Path]:
        """What of the machine is where in the container."""
        found = {}
        for volume in self.all_of("--volume"):
            source, target = volume.removesuffix(":ro").split(":")
            found[target] = Path(source)
        return found

    def variables_outside(self) -> dict[str, str]:
        """The variables for an agent that runs beside the container: with the machine's files."""
        mounts = self.mounts
        return {
            name: str(mounts[value]) if value in mounts else value
            for name, value in self.variables.items()
        }


def json_file(path: Path) -> object:
    """What a file holds."""
    return json.loads(path.read_text())


def unpacked(text: str) -> str:
    """The script that a script which unpacks itself would run."""
    run = "exec bash <("
    assert text.count(run) == 1
    shown = text.replace(run, "cat <(")
    return subprocess.run(["bash"], input=shown, capture_output=True, text=True, check=True).stdout
