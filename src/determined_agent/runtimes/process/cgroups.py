"""Limits the processes and the memory of a task by cgroups of its own.

If none for processes can be created, the shim falls back to RLIMIT_NPROC, which counts all
processes of the task's user together and does not apply to root.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from determined_wire.agent_link import OutOfMemory

_PREFIX = "determined-"
_FILES = {"pids": ("pids.max",), "memory": ("memory.max", "memory.limit_in_bytes")}
"""By controller: the files of its limit, that of the unified hierarchy first."""


class GroupLimits(msgspec.Struct, frozen=True):
    """The limits of a task; 0 for none."""

    pids: int = 0
    """Processes and threads."""
    memory: int = 0
    """Bytes, without those of swap."""

    def of(self, controller: str) -> int:
        """The limit that a controller enforces."""
        return self.pids if controller == "pids" else self.memory


def make_cgroups(container_id: str, limits: GroupLimits) -> list[str]:
    """Create a task's cgroups.

    Returns:
        Their directories: one for all limits, or one for each in older kernels' hierarchies. A
        limit that cannot be set has none.
    """
    cgroups: list[str] = []
    for controller, files in _FILES.items():
        limit = limits.of(controller)
        if limit:
            cgroup = _make(container_id, controller, files, limit)
            cgroups += [cgroup] if cgroup and cgroup not in cgroups else []
    return cgroups


def _make(container_id: str, controller: str, files: tuple[str, ...], limit: int) -> str:
    for parent in _parents(controller):
        path = parent / f"{_PREFIX}{container_id}"
        existed = path.exists()
        try:
            path.mkdir(exist_ok=True)
            file = next((path / name for name in files if (path / name).exists()), path / files[0])
            file.write_text(f"{limit}\n")
        except OSError:
            if not existed:
                with contextlib.suppress(OSError):
                    path.rmdir()
            continue
        return str(path)
    return ""


def has_memory_limit(group: str) -> bool:
    """Whether a cgroup is one that limits memory."""
    return any(Path(group, name).exists() for name in _FILES["memory"])


def cgroup_members(container_id: str) -> list[int]:
    """Return the processes in a task's cgroup, regardless of their parents and environment."""
    pids: list[int] = []
    for parent in _all_parents():
        with contextlib.suppress(OSError):  # it was never created
            text = (parent / f"{_PREFIX}{container_id}" / "cgroup.procs").read_text()
            pids += [int(pid) for pid in text.split() if pid != "0"]
    return pids


def read_out_of_memory(container_id: str) -> OutOfMemory | None:
    """Whether the kernel has killed a process of a task for its memory, by its cgroup's word."""
    for parent in _parents("memory"):
        group = parent / f"{_PREFIX}{container_id}"
        if any(_kills_in(group / name) for name in ("memory.events", "memory.oom_control")):
            return OutOfMemory(
                limit_bytes=_number_in(group, _FILES["memory"]),
                peak_bytes=_number_in(group, ("memory.peak", "memory.max_usage_in_bytes")),
            )
    return None


def _kills_in(file: Path) -> int:
    with contextlib.suppress(OSError, ValueError):
        for line in file.read_text().splitlines():
            name, _, number = line.partition(" ")
            if name == "oom_kill":
                return int(number)
    return 0


def _number_in(group: Path, names: Sequence[str]) -> int:
    """The number in the first of these files that has one; 0 for none."""
    for name in names:
        with contextlib.suppress(OSError, ValueError):
            return max(0, int((group / name).read_text()))
    return 0


def remove_cgroup(container_id: str) -> None:
    """Remove a task's cgroup, which must be empty."""
    for parent in _all_parents():
        with contextlib.suppress(OSError):  # it was never created
            (parent / f"{_PREFIX}{container_id}").rmdir()


def _all_parents() -> list[Path]:
    return list(dict.fromkeys(parent for name in _FILES for parent in _parents(name)))


def _parents(controller: str) -> Iterator[Path]:
    """Yield the cgroups below which one for a task may be created, best first."""
    own = _current_cgroups()
    for kind, options, mounted in _hierarchies():
        if kind == "cgroup" and controller in options and controller in own:
            yield mounted / own[controller]
        elif kind == "cgroup2" and "" in own:
            here = mounted / own[""]
            # A group that holds processes cannot delegate controllers: then a sibling is used.
            yield from (g for g in (here, here.parent) if _delegates(g, controller))


def _current_cgroups() -> dict[str, str]:
    """Return this process's cgroups by controller; empty for the unified hierarchy."""
    cgroups = {}
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return {}
    for line in lines:
        _, controllers, path = line.split(":", 2)
        for name in controllers.split(","):
            cgroups[name] = path.lstrip("/")
    return cgroups


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


def _delegates(group: Path, controller: str) -> bool:
    try:
        return controller in (group / "cgroup.subtree_control").read_text().split()
    except OSError:
        return False
