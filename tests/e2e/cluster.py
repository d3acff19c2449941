"""A real cluster in a directory of its own: processes, PostgreSQL, tasks; gone at the end."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import psutil
from tests.e2e.cluster_api import ENDED, PASSWORD, ClusterApi, until
from tests.e2e.ports import with_reserved_ports
from tests.free_ports import free_port
from tests.watchdog import Watchdog

from determined.common.api.certs import Cert
from determined.common.api.errors import APIException
from determined_agent.runtimes.process.cgroups import remove_cgroup

ROOT = Path(__file__).parents[2]
JOIN_TOKEN = "a join token of more than 32 characters"


class Account(NamedTuple):
    """Who runs a cluster, when that is not who runs the tests."""

    name: str
    uid: int
    gid: int
    home: str


class Https(NamedTuple):
    """Files by which a cluster speaks TLS."""

    authority: Path
    """Signed all certificates, and is trusted by all."""
    cert: Path
    key: Path
    agent_cert: Path
    agent_key: Path


class Way(NamedTuple):
    """How a process is started, where that is not as usual."""

    tuning: Mapping[str, Any] = {}
    """As `tuned.py` takes it."""
    prefix: tuple[str, ...] = ()
    """A command that runs it, such as `ip netns exec NAME`."""
    master_host: str = "127.0.0.1"
    """Where it reaches the master."""
    options: tuple[str, ...] = ()
    """Stand last, so they win."""


class Cluster(ClusterApi):
    """One master and its agents; each can be killed and started again."""

    def __init__(
        self,
        root: Path,
        agents: int = 1,
        slots: int = 2,
        account: Account | None = None,
        *,
        settings: str = "",
        pools: Sequence[str] = (),
        https: Https | None = None,
    ) -> None:
        """
        Args:
            root: an empty directory.
            agents: how many.
            slots: of each agent.
            account: who runs it, when that is not who runs the tests.
            settings: a master.yaml.
            pools: of the agents, in turn; without any they join the default pool.
            https: the master serves HTTPS and takes only agents that show a certificate.
        """
        self.root = root
        self.settings = settings
        """The master's file, as it is at its next start."""
        self._pools = pools
        self.port = free_port()
        self.services_port = free_port()
        """Where browsers open services of tasks; 0 for the master's own port."""
        super().__init__(f"{'https' if https else 'http'}://127.0.0.1:{self.port}")
        self.port_of_agents = self.port
        """Where agents and tasks find the master; another one when something stands between."""
        self.master_options: tuple[str, ...] = ()
        self.agent_options: tuple[str, ...] = ("--container-runtime", "process")
        self.https = https
        if https:
            self.cert = Cert.from_file(str(https.authority))
            self._trust(https)
        self.ways: dict[str, Way] = {}
        """Of processes that are not started as usual, by name."""
        self.host = "127.0.0.1"
        """Where the master listens."""
        self._watchdog: Watchdog | None = None
        self._account = account
        self._slots = slots
        self._agents = [f"agent-{n}" for n in range(agents)]
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._twins: list[subprocess.Popen[bytes]] = []

    def _trust(self, https: Https) -> None:
        self.master_options = (
            *("--security-tls-cert", str(https.cert), "--security-tls-key", str(https.key)),
            *("--resource-manager-require-authentication", "true"),
            *("--resource-manager-client-ca", str(https.authority)),
        )
        self.agent_options += (
            *("--security-tls-enabled", "--security-tls-master-cert", str(https.authority)),
            *("--security-tls-client-cert", str(https.agent_cert)),
            *("--security-tls-client-key", str(https.agent_key)),
        )

    def start(self) -> None:
        """Start everything and wait until slots are listed."""
        self._watchdog = Watchdog(self.root)
        self.start_master()
        for name in self._agents:
            self.start_agent(name)
        until(lambda: len(self.connected()) >= len(self._agents), what="agents")

    @property
    def join_token(self) -> Path:
        """The file of the token that all of its agents show."""
        return self.root / "join-token"

    def start_master(self) -> None:
        """Start the master; returns once it answers."""
        if not self.join_token.exists():
            self.join_token.touch(mode=0o600)
            self.join_token.write_text(JOIN_TOKEN)
            if self._account:
                os.chown(self.join_token, self._account.uid, self._account.gid)
        self._spawn(
            "master",
            "determined_master.main",
            *("--host", self.host, "--port", str(self.port)),
            *("--proxy-port", str(self.services_port)),
            *("--db-data-dir", str(self.root / "db" / "pg")),
            *("--security-initial-user-password", PASSWORD),
            *("--security-agent-join-token-file", str(self.join_token)),
            *self.master_options,
            *self._config_file(),
        )
        until(self._answers, 300, "an answer of the master")

    def _config_file(self) -> Sequence[str]:
        text = with_reserved_ports(self.settings)
        if not text:
            return ()
        path = self.root / "master.yaml"
        path.write_text(text)
        return "--config-file", str(path)

    def run_master(
        self, *arguments: str, port: int | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Start a master that is expected to end by itself; what it said."""
        where = ("--host", "127.0.0.1", "--port", str(self.port if port is None else port))
        return subprocess.run(
            [sys.executable, "-m", "determined_master.main", *where, *arguments],
            capture_output=True,
            text=True,
            env=self._environment(),
            timeout=120,
        )

    def start_twin(self, agent: str) -> subprocess.Popen[bytes]:
        """Start another agent of the same id, as on a machine of its own.

        The way of process `twin` is its own.
        """
        self._start_agent_as("twin", agent, "twins")
        self._twins.append(self.processes.pop("twin"))
        return self._twins[-1]

    def start_agent(self, name: str = "agent-0") -> None:
        """Start an agent; returns at once."""
        self._start_agent_as(name, name, "agents")

    def _start_agent_as(self, process: str, name: str, directory: str) -> None:
        way = self.ways.get(process, Way())
        self._spawn(
            process,
            "determined_agent.main",
            *("run", "--master-host", way.master_host),
            *("--master-port", str(self.port_of_agents)),
            *("--agent-id", name, "--work-dir", str(self.root / directory)),
            *("--join-token-file", str(self.join_token)),
            *("--artificial-slots", str(self._slots), *self.agent_options),
            *self._pool_of(name),
            *way.options,
        )

    def _pool_of(self, name: str) -> Sequence[str]:
        if not self._pools:
            return ()
        place = self._agents.index(name) % len(self._pools)
        return "--resource-pool", self._pools[place]

    def kill(self, name: str) -> None:
        """End a process as if its power had gone."""
        process = self.processes.pop(name)
        process.kill()
        process.wait()

    def kill_postgres(self) -> None:
        """End the database server; the master starts it again."""
        pid_file = self.root / "db" / "pg" / "data" / "postmaster.pid"

        def running() -> int | None:
            words = []
            with suppress(FileNotFoundError):  # a server that begins removes what another left
                words = pid_file.read_text().split()
            pid = int(words[0]) if words else 0
            return pid if pid and psutil.pid_exists(pid) else None

        os.kill(until(running, what="a running database"), signal.SIGKILL)

    def settle(self) -> None:
        """End what still runs and wait for the last task's process; all parts must run."""
        listed = self.get("/api/v1/experiments", limit=-1)["experiments"]
        for found in listed:
            if found["state"].removeprefix("STATE_") not in ENDED:
                self.post(f"/api/v1/experiments/{found['id']}/kill")
        quiet = 0

        def is_settled() -> bool:
            # An experiment that has ended may still have its garbage collected.
            nonlocal quiet
            waiting = self.get("/api/v1/tasks")["allocationIdToSummary"]
            quiet = 0 if self.tasks() or waiting else quiet + 1
            return quiet >= 10

        until(is_settled, what="the end of every task's process")

    def tasks(self) -> list[str]:
        """Command lines of task processes that still run."""
        mark = str(self.root / "agents")
        found = []
        for process in self.leftovers():
            words = process.info["cmdline"] or []
            if any(mark in word for word in words) and "determined_agent.main" not in words:
                found.append(" ".join(words))
        return found

    def stop(self) -> list[str]:
        """End all of it; command lines of what outlived its owner and had to be killed."""
        for name in sorted(self.processes, reverse=True):  # the master, then the agents
            self.processes[name].terminate()
        for process in self.processes.values():
            try:
                process.wait(120)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.processes.clear()
        self.close_sessions()
        left = []
        for process in self.leftovers():
            left.append(" ".join(process.info["cmdline"] or ()))
            with suppress(psutil.NoSuchProcess):  # it has just ended by itself
                process.kill()
        for twin in self._twins:  # a test that failed may have waited for none
            twin.wait()
        for directory in self.root.glob("*/agent-*/*"):
            remove_cgroup(directory.name.removeprefix("gone-"))
        if self._watchdog is not None:
            self._watchdog.dismiss()
        return left

    def leftovers(self) -> list[psutil.Process]:
        """Processes that belong to this cluster and still run."""
        mark, own = str(self.root), os.getpid()
        found = []
        for process in psutil.process_iter(["pid", "cmdline", "environ"]):
            words = " ".join(process.info["cmdline"] or ())
            variables = " ".join((process.info["environ"] or {}).values())
            if process.pid != own and (mark in words or mark in variables):
                found.append(process)
        return found

    def run_script(self, text: str) -> str:
        """Run a script outside of any task; what it prints."""
        script = self.root / "script.py"
        script.write_text(text)
        done = subprocess.run(
            [sys.executable, str(script)],
            capture_output=True,
            text=True,
            cwd=self.root,
            env=self._environment(),
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def log(self, name: str = "master") -> str:
        """What a process has said, nothing of one that was never started."""
        log = self.root / f"{name}.log"
        return log.read_text(errors="replace") if log.exists() else ""

    def task_text(self, task: str, *, follow: bool = False) -> str:
        """A task's log as far as it is stored; with `follow`, to the end of a task that has ended.

        An end that a new master finds is reported before the output.
        """
        given = {"follow": "true"} if follow else {}
        lines = self.session().get(f"/api/v1/tasks/{task}/logs", params=given).text.splitlines()
        return "".join(json.loads(line)["result"]["message"] for line in lines)

    def _answers(self) -> bool:
        master = self.processes["master"]
        assert master.poll() is None, f"the master ended: {self.log()[-3000:]}"
        try:
            with self._connected() as link:
                link.settimeout(30)
                link.sendall(b"GET /info HTTP/1.0\r\n\r\n")
                return link.recv(64).startswith(b"HTTP/1.1 200")
        except OSError:
            return False

    def _connected(self) -> socket.socket:
        link = socket.create_connection(("127.0.0.1", self.port), 10)
        if self.cert is None:
            return link
        return self.cert.ssl_context().wrap_socket(link, server_hostname="127.0.0.1")

    def _environment(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("DET_")}
        path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
        account = self._account
        own = {"HOME": account.home, "USER": account.name} if account else {}
        return {**kept, **own, "PYTHONPATH": path}

    def _spawn(self, name: str, module: str, *arguments: str) -> None:
        log = (self.root / f"{name}.log").open("ab")
        account = self._account
        way = self.ways.get(name, Way())
        program: tuple[str, ...] = ("-m", module)
        if way.tuning:
            program = (str(ROOT / "tests/e2e/tuned.py"), json.dumps(way.tuning), module)
        with log:
            self.processes[name] = subprocess.Popen(
                [*way.prefix, sys.executable, *program, *arguments],
                stdout=log,
                stderr=log,
                cwd=self.root,
                env=self._environment(),
                start_new_session=True,
                user=account.uid if account else None,
                group=account.gid if account else None,
                extra_groups=[] if account else None,
            )


__all__ = [
    "ENDED",
    "PASSWORD",
    "APIException",
    "Account",
    "Cluster",
    "Https",
    "until",
]
