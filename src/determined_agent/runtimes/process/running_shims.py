"""Finds shims by their command lines, which name the directories of their tasks."""

from __future__ import annotations

import os
from pathlib import Path

PROGRAM = "determined_agent.shim.program"
"""In the command line of each shim, which ends with the task's directory."""


def running_shims(root: Path) -> dict[str, int]:
    """The process ids of the shims of all tasks below a directory, by container."""
    shims = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            words = Path(f"/proc/{name}/cmdline").read_bytes().decode().split("\0")
        except (OSError, UnicodeDecodeError):  # it has ended, or is no shim
            continue
        directory = Path(words[-2]) if len(words) > 2 else Path()
        if directory.parent == root and any(PROGRAM in word for word in words):
            shims[directory.name] = int(name)
    return shims
