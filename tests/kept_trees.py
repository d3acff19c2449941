"""Trees of files that take minutes to make, kept as archives between runs.

An archive's name has a hash of all that decides its content: a change makes another archive.
Those that nobody has used for a month are removed.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

_UNUSED_S = 30 * 24 * 3600.0


def directory() -> Path:
    """Where archives are kept: BARE_CACHE, or a directory of the account's own cache."""
    if named := os.environ.get("BARE_CACHE"):
        return Path(named)
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(caches, "determined-tests")


def packed_tree(kind: str, made_by: Sequence[str], make: Callable[[Path], None]) -> Path:
    """The archive of a tree.

    Args:
        kind: the first part of the archive's name.
        made_by: all that decides the files: a release, packages, the text of a program.
        make: makes the files below a directory that is not there yet; called when no archive has
            been made by the same.
    """
    place = directory()
    place.mkdir(parents=True, exist_ok=True)
    key = hashlib.sha256("\0".join(made_by).encode()).hexdigest()[:16]
    packed = place / f"{kind}-{key}.tar"
    with _locked(place / f"{kind}.lock"):
        if not packed.exists():
            _make(packed, make)
        os.utime(packed)
        for other in place.glob(f"{kind}-*"):
            if other.stat().st_mtime < time.time() - _UNUSED_S:
                other.unlink()
    return packed


def unpack(packed: Path, tree: Path) -> Path:
    """Put the files of an archive into a new directory."""
    tree.mkdir(parents=True)
    subprocess.run(["tar", "-C", str(tree), "-xpf", str(packed)], check=True)
    return tree


def _make(packed: Path, make: Callable[[Path], None]) -> None:
    scratch = Path(tempfile.mkdtemp(prefix="det-tree-", dir="/tmp"))
    try:
        make(scratch / "tree")
        part = packed.with_suffix(".part")
        subprocess.run(["tar", "-C", str(scratch / "tree"), "-cf", str(part), "."], check=True)
        part.rename(packed)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Held by one process: suites of several workers need the same tree."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
