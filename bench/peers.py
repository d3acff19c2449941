"""Other programs that figures are compared with, each in a virtual environment of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.cluster import ROOT
from bench.figure import CannotMeasure

PROGRAMS = Path(__file__).parent / "peer_programs"
INSTALL_LIMIT_S = 900.0
_DONE = ".bench-installed"


def environment(name: str, packages: Sequence[str]) -> Path:
    """The directory of an environment's commands; it is made once and kept.

    Raises:
        CannotMeasure: the packages cannot be installed on this machine; with what pip said.
    """
    directory = ROOT / f".venv-bench-{name}"
    commands, done = directory / "bin", directory / _DONE
    wanted = "\n".join(packages)
    if done.exists() and done.read_text() == wanted:
        return commands
    _run([sys.executable, "-m", "venv", str(directory)], name)
    pip = [str(commands / "python"), "-m", "pip", "install", "--quiet"]
    _run([*pip, "--disable-pip-version-check", *packages], name)
    done.write_text(wanted)
    return commands


def _run(command: list[str], name: str) -> None:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=INSTALL_LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise CannotMeasure(f"{name} was not installed within {INSTALL_LIMIT_S:g} s") from error
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["nothing was said"])[-1]
        raise CannotMeasure(f"{name} cannot be installed on this machine: {last}")
