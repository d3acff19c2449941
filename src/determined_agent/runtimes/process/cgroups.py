"""Bounding how many processes a task may have, where the kernel lets us: a cgroup a task.

Root needs a cgroup, for it no other bound holds. Where none can be made, the shim falls back to
RLIMIT_NPROC, which counts all processes of the task's user together and does not hold for root.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

_PREFIX = "determined-"


def make_cgroup(container_id: str, limit: int) -> str:
    """Make a task's cgroup of at most `limit` processes and threads, 0 for no bound.

    Returns:
        Its directory; empty where there is no bound or none can be made here.
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
    """Processes in a task's cgroup, whatever they have made of their parents and environment."""
    found: list[int] = []
    for parent in _parents():
        with contextlib.suppress(OSError):  # it was never made
            text = (parent / f"{_PREFIX}{container_id}" / "cgroup.procs").read_text()
            found += [int(pid) for pid in text.split() if pid != "0"]
    return found


def remove_cgroup(container_id: str) -> None:
    """Remove a task's cgroup; nothing runs in it any more."""
    for parent in _parents():
        with contextlib.suppress(OSError):  # it was never made
            (parent / f"{_PREFIX}{container_id}").rmdir()


def _parents() -> Iterator[Path]:
    """Cgroups below which one for a task may be made, the likeliest first."""
    own = _current_cgroups()
    for kind, options, mounted in _hierarchies():
        if kind == "cgroup" and "pids" in options and "pids" in own:
            yield mounted / own["pids"]
        elif kind == "cgroup2" and "" in own:
            here = mounted / own[""]
            # A group with processes of its own cannot share out: then a sibling is made.
            yield from (g for g in (here, here.parent) if _shares_pids(g))


def _current_cgroups() -> dict[str, str]:
    """This process's groups by controller; that of the unified hierarchy by the empty name."""
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


def _shares_pids(group: Path) -> bool:
    try:
        return "pids" in (group / "cgroup.subtree_control").read_text().split()
    except OSError:
        return False
