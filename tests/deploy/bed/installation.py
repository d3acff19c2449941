"""A release of the chart in a namespace of a test bed."""

from __future__ import annotations

import base64
import json
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from tests.deploy.bed import images
from tests.deploy.bed.release import Place
from tests.deploy.bed.services import Kubectl
from tests.e2e.cluster_api import until

RELEASE = "r1"
DATABASE, MASTER = "10.96.255.1", "10.96.255.2"
"""Addresses that lead to the Services of the release."""


class Installation:
    """A namespace with one release of the chart."""

    def __init__(self, kubectl: Kubectl, place: Place) -> None:
        self.kubectl = kubectl
        self.namespace = place.namespace
        self._home = place.root
        self.values = place.root / "values.yaml"
        with self.values.open("w") as file:
            YAML(typ="safe").dump(_values(place), file)

    def deploy(self, command: str, *options: str) -> subprocess.CompletedProcess[str]:
        """`det deploy kubernetes COMMAND` for the release."""
        where = ("--release", RELEASE, "--namespace", self.namespace)
        return self._det("deploy", "kubernetes", command, *where, *options)

    def up(self, *options: str) -> None:
        done = self.deploy("up", "--values", str(self.values), "--timeout", "200", *options)
        assert done.returncode == 0, done.stdout + done.stderr
        self.await_route()

    def await_route(self) -> None:
        """Return once connections get to the master that is ready."""
        until(lambda: self._det("master", "info").returncode == 0, what="the route to the master")

    def down(self, *options: str) -> str:
        done = self.deploy("down", "--yes", *options)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def det(self, *words: str) -> str:
        """A command of the admin."""
        done = self.run("admin", *words)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def run(self, user: str, *words: str) -> subprocess.CompletedProcess[str]:
        """A command of a user with the first password."""
        return self._det(*words, DET_USER=user, DET_PASS=self.password())

    def listed(self, *words: str) -> Any:
        """The answer of a command that prints JSON."""
        return json.loads(self.det(*words, "--json"))

    def password(self) -> str:
        """The first password, as the notes of the chart tell to read it."""
        secret = f"determined-passwords-{RELEASE}"
        words = ("get", "secret", secret, "-n", self.namespace)
        text = self.kubectl(*words, "-o", "jsonpath={.data.initial-user-password}")
        return base64.b64decode(text).decode()

    def names(self, kind: str) -> list[str]:
        """The objects of a kind in the namespace that somebody made."""
        found = self.kubectl("get", kind, "-n", self.namespace, "-o", "name").split()
        return [name for name in found if "/default" not in name and "/kube-root" not in name]

    def _det(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        env = {
            **{k: v for k, v in os.environ.items() if not k.startswith("DET_")},
            "HOME": str(self._home),
            "KUBECONFIG": self.kubectl.kubeconfig,
            "DET_MASTER": f"http://{MASTER}:8080",
            **variables,
        }
        command = [sys.executable, "-m", "determined.cli", *words]
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=600)


@contextmanager
def installation(kubectl: Kubectl) -> Iterator[Installation]:
    """A namespace for one release, which `up` installs; both are gone at the end."""
    with tempfile.TemporaryDirectory(prefix="det-chart-", dir="/tmp") as directory:
        namespace = f"det-chart-{secrets.token_hex(4)}"
        place = Place(RELEASE, namespace, Path(directory), MASTER, DATABASE)
        kubectl("create", "namespace", namespace)
        try:
            with place.prepared(kubectl):
                made = Installation(kubectl, place)
                yield made
                if made.names("deployment"):
                    made.down("--delete-db")
        finally:
            kubectl("delete", "namespace", namespace)


def _values(place: Place) -> dict[str, Any]:
    found = place.values()
    found["defaultImages"]["cpuImage"] = images.TASK
    return {
        **found,
        "imageRegistry": images.REGISTRY,
        "detVersion": images.TAG,
        "maxSlotsPerPod": 4,
        "useNodePortForMaster": True,
    }
