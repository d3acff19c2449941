"""A cluster whose agents are simulated, in a process beside it; both are gone at the end."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator

from bench.cluster import ROOT, Cluster, start_cluster, until

JOIN_LIMIT_S = 120.0


class Fleet:
    """The process of the simulated agents, and what it is told."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def counts(self) -> dict[str, int]:
        """What `bench.simulated_agents.Fleet` counts."""
        return self._tell("counts")

    def end(self, count: int) -> dict[str, int]:
        """Let so many running containers end by themselves; the counts then."""
        return self._tell(f"end {count}")

    def wait_for(self, what: str, count: int, limit_s: float = JOIN_LIMIT_S) -> None:
        """Wait until one of the counts is that high. Raises TimeoutError."""
        until(lambda: self.counts()[what] >= count, limit_s, f"{count} {what}", pause_s=0.05)

    def _tell(self, command: str) -> dict[str, int]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(command + "\n")
        stdin.flush()
        answer = stdout.readline()
        if not answer:
            raise RuntimeError("the simulated agents are gone")
        return dict(json.loads(answer))


@contextlib.contextmanager
def simulated_cluster(
    agents: int,
    slots: int,
    place: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext,
) -> Iterator[tuple[Cluster, Fleet]]:
    """A fresh cluster, started within `place`, with so many agents and slots, all joined."""
    with contextlib.ExitStack() as stack:
        with place():
            cluster = stack.enter_context(start_cluster(agents=0))
        fleet = stack.enter_context(_fleet(cluster, agents, slots))
        fleet.wait_for("connected", agents)
        yield cluster, fleet


@contextlib.contextmanager
def _fleet(cluster: Cluster, agents: int, slots: int) -> Iterator[Fleet]:
    token = (cluster.files / "join-token").read_text().strip()
    flags = {"master-port": cluster.port, "agents": agents, "slots": slots, "join-token": token}
    words = [f"--{name}={value}" for name, value in flags.items()]
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.simulated_agents", *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Fleet(process)
    finally:
        process.kill()
        process.communicate()
