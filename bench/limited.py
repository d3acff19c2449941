"""A machine with less memory and fewer processors, for what is started within a block."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from bench.figure import CannotMeasure

GIB = 1024**3
_HIERARCHIES = Path("/sys/fs/cgroup")
_PERIOD_US = 100_000
_END_LIMIT_S = 30.0


class LimitedMachine:
    """Control groups of version 1, which those who start processes enter meanwhile."""

    def __init__(self, memory: Path, processor: Path) -> None:
        self._memory = memory
        self._processor = processor

    @contextlib.contextmanager
    def inside(self) -> Iterator[None]:
        """What this process starts in the block stays there; it leaves at the end."""
        for group in (self._memory, self._processor):
            _move(group)
        try:
            yield
        finally:
            for group in (self._memory, self._processor):
                _move(group.parent)

    def peak_bytes(self) -> int:
        """The most memory that was ever used, with the cache of files."""
        return int((self._memory / "memory.max_usage_in_bytes").read_text())

    def used_bytes(self) -> int:
        """The memory that processes have now, without the cache of files."""
        return self._count("memory.stat", "rss")

    def kills(self) -> int:
        """Processes that were ended because no memory was left."""
        return self._count("memory.oom_control", "oom_kill")

    def _count(self, file: str, name: str) -> int:
        lines = (self._memory / file).read_text().splitlines()
        return int(dict(line.split() for line in lines)[name])


@contextlib.contextmanager
def limited_machine(memory_bytes: int, cores: int) -> Iterator[LimitedMachine]:
    """Groups with these limits, which are gone at the end. Raises CannotMeasure."""
    name = f"det-bench-{os.getpid()}"
    try:
        memory, processor = (_own_group(kind) / name for kind in ("memory", "cpu"))
        with contextlib.ExitStack() as stack:
            for group in (memory, processor):
                group.mkdir()
                stack.callback(_remove, group)
            (memory / "memory.limit_in_bytes").write_text(str(memory_bytes))
            (processor / "cpu.cfs_period_us").write_text(str(_PERIOD_US))
            (processor / "cpu.cfs_quota_us").write_text(str(cores * _PERIOD_US))
            yield LimitedMachine(memory, processor)
    except OSError as error:
        if Path(str(error.filename)).is_relative_to(_HIERARCHIES):
            raise CannotMeasure(f"control groups cannot be made here: {error}") from error
        raise


def _own_group(kind: str) -> Path:
    """That of this process. Raises CannotMeasure where there is none."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, kinds, path = line.split(":", 2)
        if kind in kinds.split(","):
            return _HIERARCHIES / kind / path.lstrip("/")
    raise CannotMeasure(f"limits need control groups of version 1, and {kind} has none here")


def _move(group: Path) -> None:
    (group / "cgroup.procs").write_text(str(os.getpid()))


def _remove(group: Path) -> None:
    """Once the last process has left: the kernel takes a moment for that."""
    deadline = time.monotonic() + _END_LIMIT_S
    while True:
        try:
            group.rmdir()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return
