"""Finding the programs of others, which an image has or has not."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from typing import List, Mapping

from determined.exec._child import NOT_FOUND
from determined.exec._log import EntryFailed

SYSTEM_PATHS = ("/usr/sbin", "/usr/local/sbin", "/sbin")
"""Where servers lie, which are not on every user's PATH."""


def find_module(module: str, program: str, env: Mapping[str, str], remedy: str) -> List[str]:
    """The command that starts a program written in Python.

    The one that this interpreter can import comes before one that PATH leads to: it sees the
    packages that the user's own code sees.

    Args:
        module: what is started with `python -m`.
        program: what is looked for on PATH where there is no such module.
        env: of the task.
        remedy: what the user can do when there is neither.

    Raises:
        EntryFailed: there is neither.
    """
    if _is_there(module):
        return [sys.executable, "-m", module]
    found = shutil.which(program, path=env.get("PATH", os.defpath))
    if found:
        return [found]
    raise EntryFailed(
        f"this task needs {program}, and {sys.executable} has no module {module!r} nor PATH a "
        f"program {program!r}: {remedy}",
        NOT_FOUND,
    )


def find_server(program: str, env: Mapping[str, str], remedy: str) -> str:
    """The path of a system's server.

    Raises:
        EntryFailed: it is not installed; with the remedy.
    """
    search = os.pathsep.join([env.get("PATH", os.defpath), *SYSTEM_PATHS])
    found = shutil.which(program, path=search)
    if not found:
        raise EntryFailed(
            f"this task needs {program}, which is neither on PATH nor in "
            f"{', '.join(SYSTEM_PATHS)}: {remedy}",
            NOT_FOUND,
        )
    return os.path.abspath(found)


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False
