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
_NOT_COMPILED = "/ray/(llm|rllib|serve)/|/(pip|setuptools|tests?)/"
"""Half of Ray, which a search never imports."""


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
    python = [str(commands / "python"), "-m"]
    pip = [*python, "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    _run([*pip, *packages], name)
    # On all cores, where pip would use one.
    compiled = [*python, "compileall", "-q", "-q", "-j", "0", "-x", _NOT_COMPILED]
    _run([*compiled, str(directory / "lib")], name, may_fail=True)
    done.write_text(wanted)
    return commands


def _run(command: list[str], name: str, *, may_fail: bool = False) -> None:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=INSTALL_LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise CannotMeasure(f"{name} was not installed within {INSTALL_LIMIT_S:g} s") from error
    if done.returncode and not may_fail:
        last = (done.stderr.strip().splitlines() or ["nothing was said"])[-1]
        raise CannotMeasure(f"{name} cannot be installed on this machine: {last}")
