"""A local cluster of the benchmark's own: started by `det deploy local`, stopped at the end.

Everything of it lies in a temporary directory and listens on loopback only; PostgreSQL is as
durable as in any other cluster.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import http.client
import itertools
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PASSWORD = "Bench1marks"
HOST = "127.0.0.1"
NAME = "bench"
COMMAND_LIMIT_S = 120.0
SIMULATED_MACHINES = "127.1.0.0/16"
"""The network in which each simulated agent has an address of its own."""


class Cluster:
    """One master and one agent, and how to talk to them."""

    def __init__(self, directory: Path, port: int, bytecode: Path | None = None) -> None:
        self.directory = directory
        self.port = port
        self.bytecode = bytecode or directory / "bytecode"
        self.token = ""
        self.steps = itertools.count(1)
        """Step numbers that no run has used yet: a report's key is stored once."""
        self.prepared: dict[str, Any] = {}
        """What figures have put into the database and find again."""

    @property
    def address(self) -> str:
        """Where the master listens."""
        return f"http://{HOST}:{self.port}"

    @property
    def files(self) -> Path:
        """The directory that `det deploy local` keeps for this cluster."""
        return self.directory / NAME

    def up(self, agents: int = 1) -> None:
        """Start it with so many agents of one slot; returns when the command does."""
        config = self.directory / "master.yaml"
        config.write_text(json.dumps({"security": {"agent_networks": [SIMULATED_MACHINES]}}))
        self.det(
            *("deploy", "local", "cluster-up", "--cluster-name", NAME, "--no-gpu"),
            *("--agents", str(agents), "--master-config-path", str(config)),
            *("--master-port", str(self.port), "--initial-user-password", PASSWORD),
            # Its own account may not be able to read this Python.
            *(("--task-account", "root") if os.geteuid() == 0 else ()),
        )

    def down(self) -> None:
        """Stop it."""
        self.det("deploy", "local", "cluster-down", "--cluster-name", NAME)

    def det(self, *words: str) -> str:
        """Run the command line client; what it printed.

        Raises:
            RuntimeError: it failed; with what it said.
        """
        done = subprocess.run(
            [*det_command(), *words],
            env=self.environment(),
            cwd=self.directory,
            capture_output=True,
            text=True,
            timeout=COMMAND_LIMIT_S,
            check=False,
        )
        if done.returncode:
            said = (done.stderr + done.stdout)[-2000:]
            raise RuntimeError(f"det {' '.join(words)} ended with {done.returncode}: {said}")
        return done.stdout

    def environment(self) -> dict[str, str]:
        """Variables for the client: nothing of the user's own login, ours instead."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith("DET_")}
        # An installed master has its bytecode beside it, wherever it is started.
        kept.pop("PYTHONDONTWRITEBYTECODE", None)
        return {
            **kept,
            "PYTHONPYCACHEPREFIX": str(self.bytecode),
            "HOME": str(self.directory),
            "XDG_CONFIG_HOME": str(self.directory / "config"),
            "PYTHONPATH": str(ROOT / "src"),
            "DET_DEPLOY_DIR": str(self.directory),
            "DET_MASTER": self.address,
        }

    def log_in(self) -> None:
        """Fetch a token of the user admin."""
        body = {"username": "admin", "password": client_hash(PASSWORD), "isHashed": True}
        self.token = self.call("POST", "/api/v1/auth/login", body)["token"]

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Send one request, and read its JSON.

        Raises:
            RuntimeError: another status than 200.
        """
        connection = http.client.HTTPConnection(HOST, self.port, timeout=60)
        try:
            text = None if body is None else json.dumps(body)
            connection.request(method, path, text, self.headers())
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        if answer.status != 200:
            raise RuntimeError(f"{method} {path}: {answer.status} {content[:500]!r}")
        return json.loads(content or b"null")

    def headers(self) -> dict[str, str]:
        """Headers of a request by the logged-in user."""
        return {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}

    def wait_until_usable(self, limit_s: float = 60.0) -> None:
        """Wait until an experiment could start: the agent is in and its slots are listed."""
        until(self._has_slots, limit_s, "the agent's slots")

    def pids(self) -> dict[str, int]:
        """Processes of the cluster by their names, `master` and `<cluster>-agent-<n>`."""
        found = {}
        for path in sorted((self.files / "status").glob("[!.]*.json")):
            status = json.loads(path.read_text())
            found[status["name"]] = int(status["pid"])
        return found

    def _has_slots(self) -> bool:
        try:
            if not self.token:
                self.log_in()
            agents: Sequence[Mapping[str, Any]] = self.call("GET", "/api/v1/agents")["agents"]
        except (OSError, RuntimeError, http.client.HTTPException):
            return False
        return any(agent["slots"] for agent in agents)


@contextlib.contextmanager
def start_cluster(*, agents: int = 1, is_first: bool = False) -> Iterator[Cluster]:
    """A running cluster, logged in; it is gone after the block, however that ends.

    Args:
        agents: of its own; without any it may be used as soon as it answers.
        is_first: compiles what it imports, as the first one after an installation does. All
            others of this process share their bytecode.
    """
    directory = Path(tempfile.mkdtemp(prefix="det-bench-"))
    directory.chmod(0o711)  # started by root, PostgreSQL runs under an account of its own
    cluster = Cluster(directory, free_port(), None if is_first else _shared_bytecode())
    try:
        try:
            cluster.up(agents)
            if agents:
                cluster.wait_until_usable()
            else:
                cluster.log_in()
            yield cluster
        finally:
            cluster.down()
    except BaseException:
        _show_logs(cluster)
        raise
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def det_command() -> list[str]:
    """How the client is called: as installed beside this Python, else as a module."""
    installed = Path(sys.executable).with_name("det")
    return [str(installed)] if installed.exists() else [sys.executable, "-m", "determined.cli"]


def client_hash(password: str) -> str:
    """What clients send in place of a password."""
    return hashlib.sha512(("GubPEmmotfiK9TMD6Zdw" + password).encode()).hexdigest()


def free_port() -> int:
    """A port of loopback that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def until(claim: Callable[[], bool], limit_s: float, what: str, *, pause_s: float = 0.005) -> None:
    """Wait for a claim to hold, looking every `pause_s` seconds.

    Raises:
        TimeoutError: it does not within `limit_s` seconds.
    """
    deadline = time.monotonic() + limit_s
    while not claim():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {limit_s:.0f} s in vain for {what}")
        time.sleep(pause_s)


@functools.cache
def _shared_bytecode() -> Path:
    path = Path(tempfile.mkdtemp(prefix="det-bench-bytecode-"))
    path.chmod(0o755)
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


def _show_logs(cluster: Cluster) -> None:
    for path in sorted((cluster.files / "logs").glob("*.log")):
        tail = path.read_text(errors="replace")[-3000:]
        sys.stderr.write(f"--- {path.name}\n{tail}\n")
