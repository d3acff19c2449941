"""Limits the number of processes of a task by a cgroup of its own.

If no cgroup can be created, the shim falls back to RLIMIT_NPROC, which counts all processes of the
task's user together and does not apply to root.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

_PREFIX = "determined-"


def make_cgroup(container_id: str, limit: int) -> str:
    """Create a task's cgroup of at most `limit` processes and threads; 0 for no limit.

    Returns:
        Its directory; empty if there is no limit or no cgroup can be created.
    """
    if not limit:
        return ""
    for parent in _parents():
        path = parent / f"{_PREFIX}{container_id}"
        try:
            path.mkdir(exist_ok=True)
            (path / "pids.max").write_text(f"{limit}\n")
        except OSError:
            with contextlib.suppress(OSError):
                path.rmdir()
            continue
        return str(path)
    return ""


def cgroup_members(container_id: str) -> list[int]:
    """Return the processes in a task's cgroup, regardless of their parents and environment."""
    found: list[int] = []
    for parent in _parents():
        with contextlib.suppress(OSError):  # it was never created
            text = (parent / f"{_PREFIX}{container_id}" / "cgroup.procs").read_text()
            found += [int(pid) for pid in text.split() if pid != "0"]
    return found


def remove_cgroup(container_id: str) -> None:
    """Remove a task's cgroup, which must be empty."""
    for parent in _parents():
        with contextlib.suppress(OSError):  # it was never created
            (parent / f"{_PREFIX}{container_id}").rmdir()


def _parents() -> Iterator[Path]:
    """Yield the cgroups below which one for a task may be created, best first."""
    own = _current_cgroups()
    for kind, options, mounted in _hierarchies():
        if kind == "cgroup" and "pids" in options and "pids" in own:
            yield mounted / own["pids"]
        elif kind == "cgroup2" and "" in own:
            here = mounted / own[""]
            # A group that holds processes cannot delegate controllers: then a sibling is used.
            yield from (g for g in (here, here.parent) if _delegates_pids(g))


def _current_cgroups() -> dict[str, str]:
    """Return this process's cgroups by controller; empty for the unified hierarchy."""
    found = {}
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return {}
    for line in lines:
        _, controllers, path = line.split(":", 2)
        for name in controllers.split(","):
            found[name] = path.lstrip("/")
    return found


def _hierarchies() -> list[tuple[str, list[str], Path]]:
    try:
        rows = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    except OSError:
        return []
    return [
        (kind, options.split(","), Path(mounted))
        for _, mounted, kind, options, *_ in rows
        if kind in ("cgroup", "cgroup2")
    ]


def _delegates_pids(group: Path) -> bool:
    try:
        return "pids" in (group / "cgroup.subtree_control").read_text().split()
    except OSError:
        return False
