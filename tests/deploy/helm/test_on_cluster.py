"""The chart on a real cluster: installed, used, upgraded, rolled back, removed."""

from __future__ import annotations

import base64
import json
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from tests.covers import covers
from tests.deploy.bed import images
from tests.deploy.bed.release import Place
from tests.deploy.bed.services import Kubectl
from tests.deploy.helm.conftest import KUBECONFIG, Bed
from tests.e2e.cluster_api import until

from determined.cli.deploy.kubernetes.helm import find_helm

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("bed")]

DIGITS = Path(__file__).parents[3] / "examples" / "digits"
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


@pytest.fixture(scope="module")
def installed(bed: Bed) -> Iterator[Installation]:
    """A release that has started; its namespace and all of it are gone at the end."""
    kubectl = bed.kubectl
    with tempfile.TemporaryDirectory(prefix="det-chart-", dir="/tmp") as directory:
        namespace = f"det-chart-{secrets.token_hex(4)}"
        place = Place(RELEASE, namespace, Path(directory), MASTER, DATABASE)
        kubectl("create", "namespace", namespace)
        try:
            with place.prepared(kubectl):
                made = Installation(kubectl, place)
                made.up()
                yield made
                if made.names("deployment"):
                    made.down("--delete-db")
        finally:
            kubectl("delete", "namespace", namespace)


def test_the_nodes_are_listed_and_the_first_password_is_random(installed: Installation) -> None:
    assert len(installed.password()) >= 16
    # Another test may have cordoned the node for a moment.
    until(
        lambda: any(agent["enabled"] for agent in installed.listed("agent", "list")), what="a node"
    )


@pytest.mark.parametrize(
    ("metadata", "spec"),
    [
        ({}, {"containers": [{"name": "determined-container", "envFrom": [
            {"secretRef": {"name": f"determined-passwords-{RELEASE}"}}]}]}),
        ({}, {"volumes": [{"name": "v", "secret": {
            "secretName": f"determined-master-config-{RELEASE}"}}]}),
        ({}, {"volumes": [{"name": "v", "secret": {
            "secretName": f"sh.helm.release.v1.{RELEASE}.v1"}}]}),
        ({}, {"serviceAccountName": f"determined-master-{RELEASE}"}),
        ({"labels": {"app": f"determined-master-{RELEASE}"}}, {}),
    ],
    ids=["passwords", "settings", "release", "account", "connections"],
)  # fmt: skip
def test_a_task_of_a_user_has_nothing_of_the_master(
    installed: Installation, metadata: dict[str, Any], spec: dict[str, Any]
) -> None:
    """Tasks run in the namespace of the release."""
    file = installed.values.with_name("command.yaml")
    asked = {"environment": {"pod_spec": {"metadata": metadata, "spec": spec}}}
    file.write_text(json.dumps({**asked, "resources": {"slots": 0}}))
    done = installed.run("determined", "command", "run", "--config-file", str(file), "env")
    told = done.stdout + done.stderr
    assert done.returncode != 0, told
    assert "is kept for the master and its database" in told
    assert installed.password() not in told


@covers("helm-and-kubernetes 15.upgrade")
def test_a_search_survives_an_upgrade_to_another_version_with_fewer_rights(
    installed: Installation,
) -> None:
    said = installed.det("experiment", "create", str(DIGITS / "adaptive_asha.yaml"), str(DIGITS))
    experiment = said.split()[-1]
    narrower = (
        "rbac.watchTaskNamespacesOnly=true",
        f"rbac.taskNamespaces={{{installed.namespace}}}",
    )
    changes = (f"detVersion={images.NEXT_TAG}", "clusterName=renamed", *narrower)
    installed.up(*(word for change in changes for word in ("--set", change)))
    installed.det("experiment", "wait", experiment)
    trials = installed.listed("experiment", "list-trials", experiment)
    assert len(trials) == 16
    assert {t["state"].removeprefix("STATE_") for t in trials} == {"COMPLETED"}
    assert {t["restarts"] for t in trials} == {0}
    assert "clusterName: renamed" in installed.det("master", "info")
    said = installed.kubectl(
        "logs", "-n", installed.namespace, "-l", f"app=determined-master-{RELEASE}"
    )
    assert "forbidden" not in said


def test_an_upgrade_that_cannot_start_shows_why(
    installed: Installation,
) -> None:
    values = ("--values", str(installed.values), "--set", "detVersion=nowhere")
    # The old master's pod must be gone before the new one comes, and old kubelets take a minute.
    failed = installed.deploy("up", *values, "--timeout", "150")
    assert failed.returncode == 1
    told = failed.stdout + failed.stderr
    assert "ErrImageNeverPull" in told
    assert f"helm --namespace {installed.namespace} rollback {RELEASE}" in told
    helm = find_helm()
    assert helm is not None
    where = ("--namespace", installed.namespace, "--kubeconfig", KUBECONFIG)
    last_good = installed.kubectl(
        *("get", "secrets", "-n", installed.namespace, "-l", "owner=helm,status=deployed"),
        *("-o", "jsonpath={.items[0].metadata.labels.version}"),
    )
    command = [helm, "rollback", RELEASE, last_good, *where, "--wait", "--timeout", "200s"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    installed.await_route()


def test_a_release_that_is_removed_with_its_database_leaves_nothing(
    installed: Installation,
) -> None:
    # Pods of tasks stay, as the page has it. The master removes the last one of the search.
    until(
        lambda: not any(name.startswith("pod/det-") for name in installed.names("pods")),
        what="the removal of all pods of tasks",
    )
    installed.down("--delete-db")
    kinds = "pods,deployments,services,serviceaccounts,configmaps,pvc,secrets"
    assert installed.names(kinds) == []
