"""The directory of one container on the agent's machine: its files, and how to read them.

`<work_dir>/<agent_id>/<container_id>/` holds `container.json` (which container this is),
`run/` (the task's /run/determined), `output/` (see `shim.spool`), `cursor` (the position up to
which the output is stored; `cursor.tmp` reserves space for the next one), and the shim's `lock`,
`pid`, `status` and `shim.log`. After a restart the agent knows nothing else. Environment and
tokens are never written here.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path

import msgspec

from determined_agent.shim.process_tree import start_time
from determined_wire.agent_link import ContainerReport, Failure

SHIM = "determined_agent.shim.program"
"""In the command line of each shim, which ends with the task's directory."""


class ContainerRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Which container a directory belongs to, and which master has ordered it."""

    container_id: str
    allocation_id: str
    task_id: str
    slot_ids: tuple[int, ...]
    device_uuids: tuple[str, ...] = ()
    """UUIDs of its slots' devices; slot numbers may change when the agent restarts."""
    ports: tuple[int, ...] = ()
    cluster_id: str = ""
    epoch: int = 0


GONE = "container is gone on reattachment"
"""As 0.38.1 says it; scripts match it."""
ENDED_FROM_OUTSIDE = (129, 130, 137, 143, 255)
"""Exit codes after SIGHUP, SIGINT, SIGKILL and SIGTERM, and Docker's of a container that was found
dead."""


class Exit(msgspec.Struct, frozen=True, kw_only=True):
    """How a task ended."""

    exit_code: int | None = None
    failure: Failure | None = None
    ended_us: int = 0
    """Microseconds since 1970; 0 if unknown."""
    dropped_lines: int = 0
    """Lines that were dropped for lack of space and are not yet noted in the output."""

    def report(self, record: ContainerRecord) -> ContainerReport:
        return ContainerReport(
            container_id=record.container_id,
            allocation_id=record.allocation_id,
            state="TERMINATED",
            failure=self.failure,
            exit_code=self.exit_code,
        )


class ContainerDirectory:
    """The paths and files of one container."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.run_dir = path / "run"
        self.output = path / "output"
        self.cursor = path / "cursor"
        self.shim_log = path / "shim.log"

    @property
    def container_id(self) -> str:
        return self.path.name

    def create(self, record: ContainerRecord) -> None:
        """Create the directory, and with it the container. Raises OSError."""
        self.path.mkdir(mode=0o700)
        self.output.mkdir(mode=0o700)
        temporary = self.path / "container.json.tmp"
        temporary.write_bytes(msgspec.json.encode(record))
        temporary.chmod(0o600)
        temporary.rename(self.path / "container.json")

    def record(self) -> ContainerRecord | None:
        """Return which container this is.

        Returns:
            None if its creation or removal was interrupted, or the file is spoilt.
        """
        if self.path.name.startswith(_REMOVED):
            return None
        try:
            data = (self.path / "container.json").read_bytes()
            record = msgspec.json.decode(data, type=ContainerRecord)
        except (OSError, UnicodeDecodeError, RecursionError, msgspec.DecodeError):
            return None
        return record if record.container_id == self.container_id else None

    def lock(self) -> int | None:
        """Take the shim's lock; return None if a live shim holds it."""
        fd = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(fd)
            return None
        return fd

    def shim_pid(self) -> int | None:
        """Return the shim's process id if that process is still the shim.

        While its file is missing or spoilt, the shim is found by its command line.
        """
        try:
            pid, started = map(int, (self.path / "pid").read_text().split())
        except (OSError, ValueError):
            return running_shims(self.path.parent).get(self.container_id)
        return pid if started == start_time(pid) else None

    def had_shim(self) -> bool:
        """Whether a shim has ever run."""
        return (self.path / "pid").exists()

    def exit(self) -> Exit | None:
        """Return how the task ended; None if its shim has written no readable status."""
        try:
            text = (self.path / "status").read_text()
            return _exit_of(dict(line.strip().partition("=")[::2] for line in text.splitlines()))
        except (OSError, ValueError, KeyError):
            return None

    def remove(self) -> None:
        """Remove the directory; files that cannot be removed stay under another name."""
        removed = self.path.with_name(f"{_REMOVED}{self.path.name}")
        try:
            self.path.rename(removed)
        except OSError:
            removed = self.path
        shutil.rmtree(removed, ignore_errors=True)


def unwatched(end: Exit) -> Exit:
    """The end of a task that no agent watched: a signal then came from outside, not from the task.

    The machine was rebooted, or somebody killed the task; the agent that could have known of a
    fault of the task was away. Such an end does not count as a restart.
    """
    if end.exit_code not in ENDED_FROM_OUTSIDE:
        return end
    text = f"{GONE}: a signal ended it while no agent watched"
    return msgspec.structs.replace(end, failure=Failure("restore_error", text, end.exit_code))


def _exit_of(values: dict[str, str]) -> Exit:
    """How a task ended, by the lines of its status. Raises ValueError, KeyError."""
    if values.get("state") == "failed":
        return Exit(failure=Failure(type="task_error", message=values.get("error", "")))
    code = int(values["code"])
    failure = None
    if code != 0:
        failure = Failure(
            type="container_failed",
            message=f"container failed with non-zero exit code: {code}",
            exit_code=code,
        )
    return Exit(
        exit_code=code,
        failure=failure,
        ended_us=int(values["ended_us"]),
        dropped_lines=int(values["dropped"]),
    )


def list_directories(root: Path) -> list[ContainerDirectory]:
    """List the directories of all containers of an agent, sorted by container id.

    They include directories without a record, which an earlier agent had started to remove.
    """
    return [
        ContainerDirectory(path)
        for path in sorted(root.iterdir())
        if path.is_dir() and not path.is_symlink() and path.name not in RESERVED_NAMES
    ]


RESERVED_NAMES = frozenset({"pythonpath", "bin"})
"""Names in an agent's directory that are not containers."""

_REMOVED = "gone-"


def running_shims(root: Path) -> dict[str, int]:
    """The process ids of the shims of all tasks below a directory, by container.

    A process of another account is none, whatever its command line says.
    """
    shims = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        process = Path("/proc", name)
        try:
            words = (process / "cmdline").read_bytes().decode().split("\0")
            is_own = process.stat().st_uid == os.geteuid()
        except (OSError, UnicodeDecodeError):  # it has ended, or is no shim
            continue
        directory = Path(words[-2]) if len(words) > 2 else Path()
        if is_own and directory.parent == root and any(SHIM in word for word in words):
            shims[directory.name] = int(name)
    return shims
