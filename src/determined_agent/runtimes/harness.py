"""The directory that makes the harness importable inside tasks, and nothing else.

The site-packages of the agent would bring all of its other packages along, before those that
the user installed; a directory of links brings three.
"""

from __future__ import annotations

import importlib.util
import os
import stat
import sys
from pathlib import Path

PACKAGES = ("determined", "urllib3", "ruamel.yaml")
"""The harness and what it imports inside a task."""


def locate_harness() -> dict[str, str]:
    """Directories of the harness and of what it needs that is installed, by import name."""
    found = {}
    for package in PACKAGES:
        location = _location(package)
        if location is not None:
            target = location.parent if "." in package else location
            found[package.partition(".")[0]] = str(target)
    return found


def link_harness(directory: Path) -> list[str]:
    """Make `directory` hold links to the harness and what it needs.

    Running tasks may be importing from it: a link is replaced in one step, and only when it
    points elsewhere.

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
    """Path of this interpreter by which `python3` is found in its own directory.

    Some are installed under another name only; then `directory` gets a `python3` that starts
    it. A link would not do: a virtual environment is recognised by the path of its link.
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
