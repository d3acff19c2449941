"""What a machine has that tests could change: a snapshot of it, and how two differ.

A process counts when it inherited the mark of a run of tests, when the run is its ancestor, or
when it is an orphan that names a directory of tests. Of ports, those of such processes count.
All other processes belong to somebody else.

Nothing says who has changed the rest (interfaces, packet filters, mounts, cgroups, users, files).
On a machine that others use at the same time, such a difference may be theirs.
"""

from __future__ import annotations

import grp
import hashlib
import os
import pwd
import re
import shutil
import socket
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

MARK = "TEST_RUN_MARK"
"""A variable that a run of tests gives to all that it starts."""
_FILTERS = (["iptables-save"], ["ip6tables-save"], ["nft", "--stateless", "list", "ruleset"])
_CGROUPS = "/sys/fs/cgroup"
_EMPTY = re.compile(r":\S+ ACCEPT$")
_LARGE_BYTES = 1 << 20
_LISTENS = "0A"
_OF_TESTS = ("/tmp/det-", "/dev/shm/det-", "/pytest-of-")
"""Parts of the paths of directories that tests make."""
_AT_FIRST_USE = (
    *(".cache", ".config", ".local", ".npm", ".pki"),  # package managers and browsers, at home
    *("/etc/cni", "/etc/docker", "/opt/containerd", "/var/lib/containers"),
    *("/run/containerd", "/run/docker", "/run/runc"),
)
"""What programs make when they are used first, and no option of theirs moves."""
_CGROUPS_OF_TESTS = ("determined", "docker", "libpod", "kube")
_PARENTS = ("docker", "libpod_parent")
"""Cgroups of Docker and Podman that stay when their last container is gone."""


class Process(NamedTuple):
    """A process; a later one with the same id started at another time."""

    pid: int
    started_at: int
    """In ticks since the machine's start."""
    parent: int
    command: str
    is_marked: bool


class MachineState(NamedTuple):
    """One snapshot."""

    things: Mapping[str, frozenset[str]]
    """Their names by kind."""
    processes: tuple[Process, ...]


class Difference(NamedTuple):
    """Something that is there after a run and was not before, or the other way round."""

    kind: str
    change: str
    """`new` or `gone`."""
    name: str
    is_of_the_run: bool
    """False when another program of the machine may have made it."""

    def __str__(self) -> str:
        return f"{self.change} {self.kind}: {self.name}"


def snapshot(checkout: Path, mark: str) -> MachineState:
    """The machine as it is now; parts that this account may not see are empty.

    Args:
        checkout: the repository; its untracked files count that git does not ignore.
        mark: the value of MARK that the run's processes inherit.
    """
    things = {
        "network interface": frozenset(name for _, name in socket.if_nameindex()),
        "packet filter rule": frozenset(_rules()),
        "mount": frozenset(_mounts()),
        "cgroup": frozenset(_cgroups()),
        "user": frozenset(user.pw_name for user in pwd.getpwall()),
        "group": frozenset(group.gr_name for group in grp.getgrall()),
        "file": frozenset(_files()),
        "checkout file": frozenset(_untracked(checkout)),
    }
    return MachineState(things, tuple(_processes(mark)))


def differences(before: MachineState, after: MachineState, run: int) -> list[Difference]:
    """What has changed between two snapshots.

    Args:
        before: taken by the process of id `run`, before it started anything.
        after: taken at its end.
        run: the process whose descendants are of the run.
    """
    changes: list[Difference] = []
    for kind, names in after.things.items():
        earlier = before.things[kind]
        changes += (Difference(kind, "new", name, False) for name in sorted(names - earlier))
        changes += (Difference(kind, "gone", name, False) for name in sorted(earlier - names))
    return changes + list(_left(before, after, run))


def _left(before: MachineState, after: MachineState, run: int) -> Iterator[Difference]:
    """Processes that started between the snapshots, as far as they count."""
    earlier = {(process.pid, process.started_at) for process in before.processes}
    parents = {process.pid: process.parent for process in after.processes}
    for process in after.processes:
        if (process.pid, process.started_at) in earlier:
            continue
        is_of_the_run = process.is_marked or run in _ancestors(process.pid, parents)
        is_orphan = process.parent == 1 and any(part in process.command for part in _OF_TESTS)
        if is_of_the_run or is_orphan:
            ports = "".join(f", listens on {port}" for port in sorted(_ports(process.pid)))
            name = f"{process.pid} ({process.command}{ports})"
            yield Difference("process", "new", name, is_of_the_run)


def _ancestors(pid: int, parents: Mapping[int, int]) -> list[int]:
    ancestors: list[int] = []
    while (pid := parents.get(pid, 0)) and pid not in ancestors:
        ancestors.append(pid)
    return ancestors


def _processes(mark: str) -> Iterator[Process]:
    """All but kernel threads, and those that have ended or are of another account."""
    word = f"{MARK}={mark}".encode()
    for name in os.listdir("/proc"):
        with suppress(OSError, ValueError, IndexError):
            place = Path("/proc", str(int(name)))
            status = (place / "stat").read_bytes().rpartition(b")")[2].split()
            command = (place / "cmdline").read_bytes().replace(b"\0", b" ").strip()
            if status[0] != b"Z" and command:
                words = (place / "environ").read_bytes().split(b"\0")
                text = command.decode(errors="replace")[:200]
                yield Process(int(name), int(status[19]), int(status[1]), text, word in words)


def _ports(pid: int) -> set[int]:
    """TCP ports on which a process listens."""
    links = set()
    with suppress(OSError):
        for descriptor in os.scandir(f"/proc/{pid}/fd"):
            with suppress(OSError):
                links.add(os.readlink(descriptor.path))
    ports = set()
    for table in ("tcp", "tcp6"):
        for line in _lines(f"/proc/{pid}/net/{table}")[1:]:
            _, local, _, state, *_ = words = line.split()
            if state == _LISTENS and f"socket:[{words[9]}]" in links:
                ports.add(int(local.rpartition(":")[2], 16))
    return ports


def _rules() -> Iterator[str]:
    """Without counters, which each packet changes, and without empty tables and their chains."""
    for command in _FILTERS:
        for line in _output(command):
            rule = line.partition(" [")[0] if line[0] == ":" else line
            if line[0] not in "#*" and line != "COMMIT" and not _EMPTY.match(rule):
                yield f"{command[0]}: {rule}"


def _cgroups() -> Iterator[str]:
    """Those of tasks and containers: the supervisor of the machine makes and removes others."""
    for path, _, _ in os.walk(_CGROUPS):
        inside = path.removeprefix(_CGROUPS)
        if Path(path).name not in _PARENTS and any(name in inside for name in _CGROUPS_OF_TESTS):
            yield path


def _mounts() -> Iterator[str]:
    for line in _lines("/proc/self/mounts"):
        device, place, kind, *_ = line.split()
        yield f"{place} ({kind} of {device})"


def _files() -> Iterator[str]:
    """Entries of directories that programs write to, and the contents of settings."""
    yield from (str(e) for e in _entries(Path.home()) if e.name not in _AT_FIRST_USE)
    for directory in ("/", "/opt", "/run", "/srv", "/usr/local/bin", "/var/lib", "/var/tmp"):
        yield from (str(e) for e in _entries(Path(directory)) if str(e) not in _AT_FIRST_USE)
    for path in _entries(Path("/etc")):
        # The shadow suite keeps the version before the last change beside each of its files.
        if str(path) not in _AT_FIRST_USE and not path.name.endswith("-"):
            yield f"{path}{_content(path)}"


def _content(path: Path) -> str:
    """A hash of a file's text, nothing for what is no file or cannot be read."""
    with suppress(OSError):
        if path.is_file() and path.stat().st_size < _LARGE_BYTES:
            return f" with {hashlib.sha256(path.read_bytes()).hexdigest()[:8]}"
    return ""


def _entries(directory: Path) -> Iterable[Path]:
    with suppress(OSError):
        return list(directory.iterdir())
    return ()


def _untracked(checkout: Path) -> Iterator[str]:
    lines = _output(["git", "-C", str(checkout), "status", "--porcelain"])
    yield from (f"{checkout / line[3:]}" for line in lines if line.startswith("??"))


def _output(command: list[str]) -> list[str]:
    """Lines; none where the program is missing or may not run."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    if (program := shutil.which(command[0], path=path)) is None:
        return []
    done = subprocess.run([program, *command[1:]], capture_output=True, text=True, check=False)
    return [line for line in done.stdout.splitlines() if line]


def _lines(path: str) -> list[str]:
    with suppress(OSError):
        return Path(path).read_text(errors="replace").splitlines()
    return []
