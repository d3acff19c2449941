"""A task's directory on the agent's machine: what lies where, and reading it back.

`<work_dir>/<agent_id>/<container_id>/` holds `container.json` (which container this is),
`run/` (the task's /run/determined), `output/` (see `spool`), `cursor` (how far the output is
stored; `cursor.tmp` is room for the next), and the shim's `lock`, `pid`, `status` and `shim.log`.
It is all that an agent knows after its restart. Environment and tokens are never written here.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path

import msgspec

from determined_agent.shim.process_tree import start_time
from determined_wire.agent_link import ContainerReport, Failure


class ContainerRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Which container a directory belongs to, and whose order it was."""

    container_id: str
    allocation_id: str
    task_id: str
    slot_ids: tuple[int, ...]
    device_uuids: tuple[str, ...] = ()
    """Of its slots: numbers may be given anew at the agent's next start."""
    ports: tuple[int, ...] = ()
    cluster_id: str = ""
    epoch: int = 0


class Exit(msgspec.Struct, frozen=True, kw_only=True):
    """How a task ended."""

    exit_code: int | None = None
    failure: Failure | None = None
    ended_us: int = 0
    """Microseconds since 1970; 0 when nobody knows."""
    dropped_lines: int = 0
    """Lines that found no room and are not noted in the output."""

    def report(self, record: ContainerRecord) -> ContainerReport:
        """The container's end as the master is told."""
        return ContainerReport(
            container_id=record.container_id,
            allocation_id=record.allocation_id,
            state="TERMINATED",
            failure=self.failure,
            exit_code=self.exit_code,
        )


class ContainerDirectory:
    """Paths of one task, and what stands in its files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.run_dir = path / "run"
        self.output = path / "output"
        self.cursor = path / "cursor"
        self.shim_log = path / "shim.log"

    @property
    def container_id(self) -> str:
        """The directory's name."""
        return self.path.name

    def create(self, record: ContainerRecord) -> None:
        """Make the directory; from here on the container exists. Raises OSError."""
        self.path.mkdir(mode=0o700)
        self.output.mkdir(mode=0o700)
        temporary = self.path / "container.json.tmp"
        temporary.write_bytes(msgspec.json.encode(record))
        temporary.chmod(0o600)
        temporary.rename(self.path / "container.json")

    def record(self) -> ContainerRecord | None:
        """Which container this is; None where its making or removal was cut short."""
        if self.path.name.startswith(_GONE):
            return None
        try:
            data = (self.path / "container.json").read_bytes()
            return msgspec.json.decode(data, type=ContainerRecord)
        except (OSError, msgspec.DecodeError):
            return None

    def lock(self) -> int | None:
        """Take the shim's lock; None when a shim holds it, that is, lives."""
        fd = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(fd)
            return None
        return fd

    def shim_pid(self) -> int | None:
        """The shim's process id, when that process is still the shim."""
        try:
            pid, started = map(int, (self.path / "pid").read_text().split())
        except (OSError, ValueError):
            return None
        return pid if started == start_time(pid) else None

    def had_shim(self) -> bool:
        """Whether a shim was ever up."""
        return (self.path / "pid").exists()

    def exit(self) -> Exit | None:
        """How the task ended, as its shim wrote it; None when it wrote nothing."""
        try:
            text = (self.path / "status").read_text()
        except OSError:
            return None
        values = dict(line.strip().partition("=")[::2] for line in text.splitlines())
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

    def remove(self) -> None:
        """Remove all of it; what cannot be removed stays, under a name that says so."""
        gone = self.path.with_name(f"{_GONE}{self.path.name}")
        try:
            self.path.rename(gone)
        except OSError:
            gone = self.path
        shutil.rmtree(gone, ignore_errors=True)


def list_directories(root: Path) -> list[ContainerDirectory]:
    """The directories of all tasks below an agent's directory, by container id.

    What an earlier agent had begun to remove is among them, without a record.
    """
    return [
        ContainerDirectory(path)
        for path in sorted(root.iterdir())
        if path.is_dir() and not path.is_symlink() and path.name not in RESERVED_NAMES
    ]


RESERVED_NAMES = frozenset({"pythonpath", "bin"})
"""Names in an agent's directory that are no container's."""

_GONE = "gone-"
