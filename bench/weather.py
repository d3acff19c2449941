"""A bare peer of the whole machine: how slow it is, and how late it wakes up, during a figure.

A process of its own does a fixed piece of work again and again, beside whatever is measured:
a loop of Python, a synchronous write, and short sleeps. Other programs of the machine slow it down
as they slow down the master, so times and rates are compared in its unit.

    python -m bench.weather DIRECTORY     answers each line of stdin with a line of JSON
"""

from __future__ import annotations

import json
import os
import select
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from bench.figure import Conditions

ROOT = Path(__file__).parents[1]
LOOP_S = 0.002
"""The loop on the machines for which the targets were chosen: twice the time of a fast one."""
SYNC_S = 0.010
"""A synchronous write of 8 KiB there."""
BEAT_S = 0.002
BEATS_A_LOOP = 50
LOOPS_A_SYNC = 5
SYNC_BYTES = 8192
STOP_LIMIT_S = 20.0


class Peer:
    """The running process; each `conditions` covers the time since the one before."""

    def __enter__(self) -> Self:
        self._directory = tempfile.TemporaryDirectory(prefix="det-bench-")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.weather", self._directory.name],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.conditions()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.communicate(timeout=STOP_LIMIT_S)
        self._directory.cleanup()

    def conditions(self) -> Conditions:
        """What the process has seen since the last question."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return Conditions(**json.loads(self._process.stdout.readline()))


@dataclass
class Samples:
    """Seconds since the last question."""

    loops: list[float]
    syncs: list[float]
    late: float = 0.0

    def conditions(self) -> Conditions:
        """A machine that is faster than those of the targets counts as one of them."""
        slowness = [1.0]
        if self.loops:
            slowness.append(statistics.median(self.loops) / LOOP_S)
        if self.syncs:
            slowness.append(statistics.median(self.syncs) / SYNC_S)
        return Conditions(slowness=round(max(slowness), 2), late_s=round(self.late, 4))


def loop() -> int:
    """Work of Python alone: integers and a dictionary, as most of the master's time."""
    counts: dict[int, int] = {}
    for number in range(10_000):
        counts[number % 97] = counts.get(number % 97, 0) + number
    return len(counts)


def watch(directory: Path) -> None:
    """Sample until stdin ends; answer each of its lines."""
    with (directory / "synced").open("wb", buffering=0) as file:
        samples, turn = Samples([], []), 0
        while True:
            samples.loops.append(_timed(loop))
            if turn % LOOPS_A_SYNC == 0:
                file.seek(0)
                samples.syncs.append(_timed(lambda: _sync(file.fileno())))
            turn += 1
            for _ in range(BEATS_A_LOOP):
                since = time.perf_counter()
                asked, _, _ = select.select([sys.stdin], [], [], BEAT_S)
                if asked:
                    if not sys.stdin.readline():
                        return
                    print(json.dumps(vars(samples.conditions())), flush=True)
                    samples = Samples([], [])
                    continue
                samples.late = max(samples.late, time.perf_counter() - since - BEAT_S)


def _sync(file: int) -> None:
    os.write(file, b"x" * SYNC_BYTES)
    os.fdatasync(file)


def _timed(work: object) -> float:
    assert callable(work)
    since = time.perf_counter()
    work()
    return time.perf_counter() - since


if __name__ == "__main__":
    watch(Path(sys.argv[1]))
