"""Makes the harness, and nothing else of the agent's packages, importable inside tasks.

The agent's site-packages would put all of its other packages before those that the user has
installed; a directory of links holds only three.
"""

from __future__ import annotations

import importlib.util
import os
import stat
import sys
from pathlib import Path

HARNESS_DIR = "/opt/determined/harness"
"""Mount point of the harness in containers; no image is expected to have files there."""
PACKAGES = ("determined", "urllib3", "ruamel.yaml")
"""The harness and its dependencies inside a task."""


def locate_harness() -> dict[str, str]:
    """Return the directories of the harness and its installed dependencies, by import name."""
    found = {}
    for package in PACKAGES:
        location = _location(package)
        if location is not None:
            target = location.parent if "." in package else location
            found[package.partition(".")[0]] = str(target)
    return found


def link_harness(directory: Path) -> list[str]:
    """Fill `directory` with links to the harness and its dependencies.

    Running tasks may import from it, so a link is replaced atomically, and only if its target has
    changed.

    Returns:
        Packages that are not installed.
    """
    directory.mkdir(mode=0o755, exist_ok=True)
    missing = []
    for package in PACKAGES:
        location = _location(package)
        if location is None:
            missing.append(package)
            continue
        target = location.parent if "." in package else location
        link = directory / package.partition(".")[0]
        if not link.is_symlink() or link.readlink() != target:
            temporary = directory / f".{link.name}.tmp"
            temporary.unlink(missing_ok=True)
            temporary.symlink_to(target)
            temporary.rename(link)
    return missing


def interpreter(directory: Path) -> str:
    """Return a path of this interpreter with a `python3` in the same directory.

    If the interpreter is installed only under another name, `directory` gets a script `python3`
    that starts it. A link would not work: Python finds a virtual environment by its own path.
    """
    own = Path(sys.executable)
    if (own.parent / "python3").exists():
        return str(own)
    directory.mkdir(mode=0o755, exist_ok=True)
    wrapper = directory / "python3"
    wrapper.write_text(f'#!/bin/sh\nexec "{own}" "$@"\n')
    wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return str(wrapper)


def _location(package: str) -> Path | None:
    try:
        spec = importlib.util.find_spec(package)
    except ModuleNotFoundError:
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(os.path.abspath(next(iter(spec.submodule_search_locations))))
