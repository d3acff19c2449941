"""Real control planes: an etcd and an API server that a test has for itself, without a kubelet.

Their programs are those of the bed (DET_TEST_KUBEMARK names one of them). Nodes are hollow, or
objects that a test creates. A second kind is a further API server of the bed's own etcd: it can go
away while the bed's other programs continue.
"""

from __future__ import annotations

import contextlib
import json
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.e2e.cluster_api import until
from tests.free_ports import free_port
from tests.real_kubernetes.programs import Program, command_of

TOKEN = "test"
USERS = f'{TOKEN},admin,admin,"system:masters"\ntask,det,det,"det"\n'
"""Tokens of an admin, and of an account without rights (`det`)."""
NOBODY_CHECKS = ssl._create_unverified_context()
Json = dict[str, Any]


class ApiServer:
    """One kube-apiserver."""

    def __init__(self, command: list[str], port: int, root: Path, token: str) -> None:
        self.url = f"https://127.0.0.1:{port}"
        self.program = Program("apiserver", command, root)
        self._token = token
        self.kubeconfig = self.kubeconfig_for(token, root / "kubeconfig")

    def start(self) -> None:
        """Start it; return when it is ready."""
        self.program.start()
        until(self._is_ready, what="a ready API server")

    def kubeconfig_for(self, token: str, path: Path) -> Path:
        cluster = {"server": self.url, "insecure-skip-tls-verify": True}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "u", "user": {"token": token}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "c",
        }
        path.write_text(json.dumps(config))
        return path

    def _is_ready(self) -> bool:
        assert not self.program.has_failed(), self.program.said()
        headers = {"Authorization": f"Bearer {self._token}"}
        request = urllib.request.Request(f"{self.url}/readyz", headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=5, context=NOBODY_CHECKS) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False


class Etcd:
    """One etcd, in a directory that need not survive."""

    def __init__(self, root: Path, *options: str) -> None:
        client, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        self.url = client
        command = ["etcd", "--data-dir", str(root / "etcd"), "--unsafe-no-fsync"]
        command += [f"--listen-client-urls={client}", f"--advertise-client-urls={client}"]
        command += [f"--listen-peer-urls={peer}", *options]
        self.program = Program("etcd", command, root)

    def call(self, path: str, **body: Any) -> Json:
        """A call of its API, such as `kv/compaction`."""
        data = json.dumps(body).encode()
        with urllib.request.urlopen(f"{self.url}/v3/{path}", data, timeout=30) as answer:
            found: Json = json.loads(answer.read())
        return found

    def compact(self) -> None:
        """Forget all but the present state: watches that continue from before are refused."""
        found = self.call("kv/range", key="AA==")
        self.call("kv/compaction", revision=found["header"]["revision"], physical=True)


class ControlPlane:
    """An etcd, its API server, and more of Kubernetes where a test wants it."""

    def __init__(self, root: Path, bin_directory: Path, *options: str, etcd: str = "") -> None:
        """
        Args:
            options: of the API server.
            etcd: a further option of etcd.
        """
        self._root = root
        self._bin = bin_directory
        self.etcd = Etcd(root, *([etcd] if etcd else []))
        (root / "tokens.csv").write_text(USERS)
        self._key = root / "sa.key"
        subprocess.run(
            ["openssl", "genrsa", "-out", str(self._key), "2048"], check=True, capture_output=True
        )
        port = free_port()
        # Nodes that a test creates have no taint of a node that is not ready yet.
        disabled = "ServiceAccount,TaintNodesByCondition"
        command = [
            str(bin_directory / "kube-apiserver"),
            f"--etcd-servers={self.etcd.url}",
            f"--secure-port={port}",
            "--bind-address=127.0.0.1",
            f"--cert-dir={root / 'pki'}",
            "--service-cluster-ip-range=10.97.0.0/16",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-signing-key-file={self._key}",
            f"--service-account-key-file={self._key}",
            f"--token-auth-file={root / 'tokens.csv'}",
            "--authorization-mode=Node,RBAC",
            f"--disable-admission-plugins={disabled}",
            "--allow-privileged",
            *options,
        ]
        self.server = ApiServer(command, port, root, TOKEN)
        self._others: list[Program] = []

    def start(self) -> None:
        self.etcd.program.start()
        self.server.start()

    def run_controllers(self, *options: str) -> None:
        """Start the controller manager."""
        key = f"--service-account-private-key-file={self._key}"
        self._run("kube-controller-manager", key, *options)

    def run_scheduler(self) -> None:
        self._run("kube-scheduler")

    def stop(self) -> None:
        for program in (*self._others, self.server.program, self.etcd.program):
            program.stop()

    def _run(self, name: str, *options: str) -> None:
        quiet = ["--leader-elect=false", "--port=0", "--secure-port=0"]
        where = f"--kubeconfig={self.server.kubeconfig}"
        command = [str(self._bin / name), where, *quiet, *options]
        self._others.append(Program(name, command, self._root))
        self._others[-1].start()


@contextlib.contextmanager
def control_plane(
    root: Path, bin_directory: Path, *options: str, etcd: str = ""
) -> Iterator[ControlPlane]:
    """A control plane that has started, and is gone at the end."""
    made = ControlPlane(root, bin_directory, *options, etcd=etcd)
    try:
        made.start()
        yield made
    finally:
        made.stop()


@contextlib.contextmanager
def server_beside(run: Path, root: Path) -> Iterator[ApiServer]:
    """One more API server of a bed, whose `apiserver.pid` lies in `run`."""
    port = free_port()
    changed = {"--secure-port": str(port), "--cert-dir": str(root / "pki")}
    command = command_of(int((run / "apiserver.pid").read_text()))
    tokens = next(w.partition("=")[2] for w in command if w.startswith("--token-auth-file="))
    token = Path(tokens).read_text().partition(",")[0]
    words = [
        f"{name}={changed[name]}" if (name := word.partition("=")[0]) in changed else word
        for word in command
    ]
    server = ApiServer(words, port, root, token)
    try:
        server.start()
        yield server
    finally:
        server.program.stop()
