"""Local clusters of stand-ins in a directory of the test; they end with the test."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import Det
from tests.free_ports import free_port

from determined_deploy.local import (
    extras,
    layout,
    processes,
    specs,
    start,
    supervisor_client,
    task_account,
)

Clusters = Callable[[str], layout.ClusterLayout]
STAND_IN = Path(__file__).with_name("stand_in.py")


def until(claim: Callable[[], object], limit_s: float = 60.0) -> None:
    """Wait until a claim holds. A missing file means that it does not hold yet."""
    deadline = time.monotonic() + limit_s

    def holds() -> object:
        try:
            return claim()
        except FileNotFoundError:
            return False

    while not holds():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.005)


def up(det: Det, port: int, *more: str, name: str = "c1") -> str:
    """Start a cluster and return the output of the command."""
    words = ("--cluster-name", name, "--master-port", str(port), "--no-gpu", *more)
    outcome = det("deploy", "local", "cluster-up", *words)
    assert outcome.status == 0, outcome.err
    return outcome.out


def running(cluster: layout.ClusterLayout) -> set[str]:
    """The names of the running processes of a cluster."""
    known = specs.list_status(cluster.status)
    return {name for name, status in known.items() if status.process is not None}


@pytest.fixture
def port() -> int:
    """A free port."""
    return free_port()


@pytest.fixture
def clusters(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Clusters]:
    """Layouts by name; processes that still run in them after the test are killed."""
    monkeypatch.setenv("DET_DEPLOY_DIR", str(tmp_path / "deploy"))
    monkeypatch.setenv("PYTHONPATH", ":".join(sys.path))
    monkeypatch.setattr(extras, "check", lambda roles: None)
    monkeypatch.setattr(start, "_command", stand_in_command)
    root = task_account.TaskAccount("root") if os.geteuid() == 0 else None
    monkeypatch.setattr(task_account, "choose", lambda asked: root)  # create no account here
    made: dict[str, layout.ClusterLayout] = {}

    def get(name: str) -> layout.ClusterLayout:
        if name not in made:
            made[name] = layout.cluster_layout(name)
            made[name].create()
        return made[name]

    yield get
    for cluster in made.values():
        supervisor = supervisor_client.find_supervisor(cluster)
        if supervisor is not None:
            # It starts again what ends, and notes that later: it must stand still meanwhile.
            os.kill(supervisor.pid, signal.SIGSTOP)
            processes.end([*processes.descendants([supervisor]), supervisor], grace_s=0.0)
        # Those of a killed supervisor run on.
        left = [status.process for status in specs.list_status(cluster.status).values()]
        processes.end([process for process in left if process], grace_s=0.0)


@pytest.fixture
def cluster(clusters: Clusters) -> layout.ClusterLayout:
    """The layout of a cluster named `c1`."""
    return clusters("c1")


def stand_in_command(module: str, config: str) -> list[str]:
    role = module.split(".")[0].removeprefix("determined_")
    return [sys.executable, "-S", str(STAND_IN), role, config]
