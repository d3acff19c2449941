"""Makes the harness, and nothing else of the agent's packages, importable inside tasks.

The agent's site-packages would put all of its other packages before those that the user has
installed; a directory of links holds only these.
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
STORAGE_CLIENT = ("obstore", "certifi")
"""Its client of buckets, and the authorities that it trusts, for images without them. The harness
puts them last on the search path, so they replace nothing of the image."""
STORAGE_CLIENT_DIR = "storage-client"
"""The directory of that client beside the packages: no name of a package."""


def locate_harness() -> dict[str, str]:
    """Return the installed directories of the harness, by their place below its mount point."""
    locations = {}
    for package in PACKAGES:
        location = _location(package)
        if location is not None:
            target = location.parent if "." in package else location
            locations[package.partition(".")[0]] = str(target)
    for package in STORAGE_CLIENT:
        location = _location(package)
        if location is not None:
            locations[f"{STORAGE_CLIENT_DIR}/{package}"] = str(location)
    return locations


def link_harness(directory: Path) -> list[str]:
    """Fill `directory` with links to the harness and its dependencies.

    Running tasks may import from it, so a link is replaced atomically, and only if its target has
    changed.

    Returns:
        Packages that are not installed.
    """
    directory.mkdir(mode=0o755, exist_ok=True)
    (directory / STORAGE_CLIENT_DIR).mkdir(mode=0o755, exist_ok=True)
    for name, target in ((n, Path(path)) for n, path in locate_harness().items()):
        link = directory / name
        if not link.is_symlink() or link.readlink() != target:
            temporary = link.with_name(f".{link.name}.tmp")
            temporary.unlink(missing_ok=True)
            temporary.symlink_to(target)
            temporary.rename(link)
    return [package for package in PACKAGES if _location(package) is None]


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
