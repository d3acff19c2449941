"""The chart on a real cluster: installed, used, upgraded, rolled back, removed."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.covers import covers
from tests.deploy.bed import images
from tests.deploy.bed.installation import RELEASE, Installation, installation
from tests.deploy.helm.conftest import KUBECONFIG, Bed
from tests.e2e.cluster_api import until

from determined_deploy.kubernetes.helm import find_helm

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("bed")]

DIGITS = Path(__file__).parents[3] / "examples" / "digits"


@pytest.fixture(scope="module")
def installed(bed: Bed) -> Iterator[Installation]:
    """A release that has started; its namespace and all of it are gone at the end."""
    with installation(bed.kubectl) as made:
        made.up()
        yield made


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
