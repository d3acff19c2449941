"""The hash of the web UI's sources: what was built once needs no second build."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

GENERATED = {"node_modules", "dist", "coverage", "test-results", "playwright-report"}
COMPRESSOR = Path(__file__).with_name("webui_compress.mjs")


def hash_of(webui: Path) -> str:
    """Of the names and contents of all files that the build may read, and of the compressor."""
    digest = hashlib.sha256(COMPRESSOR.read_bytes())
    for name in sorted(_names(webui)):
        path = webui / name
        if path.is_file():
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            digest.update(f"{name}\0{content}\n".encode(errors="surrogateescape"))
    return digest.hexdigest()


def _names(webui: Path) -> set[str]:
    """Names of sources: those that git does not ignore, and without git all but generated ones."""
    return {name for name in _listed(webui) if not GENERATED & set(Path(name).parts)}


def _listed(webui: Path) -> Iterable[str]:
    command = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", ".")
    try:
        listed = subprocess.run(command, cwd=webui, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return _walked(webui)
    return [os.fsdecode(name) for name in listed.split(b"\0") if name] or _walked(webui)


def _walked(webui: Path) -> list[str]:
    found = []
    for directory, below, files in os.walk(webui):
        below[:] = [name for name in below if name not in GENERATED and not name.startswith(".")]
        found += [os.path.relpath(os.path.join(directory, name), webui) for name in files]
    return found
