"""The other end of the link of agents that are processes, and what these run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.agent_link import Listener, OpenDoor, Recorder, identity

from determined_master.backends.agents.backend import AgentBackend
from determined_master.backends.agents.session import LinkTimes


def backend_of(
    listener: Listener,
    events: Recorder,
    *,
    wait_s: float = 90.0,
    door: Any = None,
    epoch: int = 1,
    times: LinkTimes | None = None,
) -> AgentBackend:
    backend = AgentBackend(
        identity(),
        events,
        door or OpenDoor(),
        reconnect_wait_s=lambda _: wait_s,
        times=times,
    )
    backend.open({}, epoch)
    listener.backend = backend
    return backend


def connected(backend: AgentBackend) -> bool:
    return any(a.is_connected for a in backend.agents())


# Tasks run unbuffered: print() would write text and line break apart, and a handler of a signal
# between them.
COUNTING = (
    "import os, sys, time",
    "for i in range({n}):",
    "    os.write(1, b'line %d\\n' % i)",
    "    time.sleep({pause})",
)


def until_there(file: Path) -> tuple[str, ...]:
    """Continues when a file is there: what a test does before falls into the task's life."""
    return (f"while not __import__('os').path.exists({str(file)!r}): time.sleep(0.01)",)


def counting(n: int, pause: float = 0.0) -> tuple[str, ...]:
    return tuple(line.format(n=n, pause=pause) for line in COUNTING)
