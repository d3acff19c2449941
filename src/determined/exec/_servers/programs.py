"""Lookup of third-party programs in the image."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from typing import List, Mapping

from determined.exec._child import NOT_FOUND
from determined.exec._log import EntryFailed

SYSTEM_PATHS = ("/usr/sbin", "/usr/local/sbin", "/sbin")
"""Directories of system servers, which may not be on PATH."""


def find_module(module: str, program: str, env: Mapping[str, str]) -> List[str]:
    """The command that starts a program written in Python.

    A module that this interpreter can import is preferred to a program on PATH, since it sees the
    same packages as the user's code.

    Args:
        module: the module for `python -m`.
        program: the program on PATH to use if there is no such module.
        env: the task's environment.

    Raises:
        EntryFailed: there is neither module nor program.
    """
    if _is_there(module):
        return [sys.executable, "-m", module]
    found = shutil.which(program, path=env.get("PATH", os.defpath))
    if found:
        return [found]
    raise EntryFailed(
        f"this task needs {program}, but {sys.executable} has no module {module!r} and PATH has "
        f"no program {program!r}: install it where the task runs ({sys.executable} -m pip install "
        f"{module.partition('.')[0]}), or in the image of containers",
        NOT_FOUND,
    )


def find_server(program: str, env: Mapping[str, str], remedy: str) -> str:
    """The path of a system server.

    Raises:
        EntryFailed: it is not installed.
    """
    search = os.pathsep.join([env.get("PATH", os.defpath), *SYSTEM_PATHS])
    found = shutil.which(program, path=search)
    if not found:
        raise EntryFailed(
            f"this task needs {program}, which is not on PATH and not in "
            f"{', '.join(SYSTEM_PATHS)}: {remedy}",
            NOT_FOUND,
        )
    return os.path.abspath(found)


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False
