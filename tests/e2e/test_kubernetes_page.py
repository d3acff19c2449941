"""The page on Kubernetes: its examples of settings and of experiments, and its commands.

One master has the settings of the page, but for names and sizes of the cluster: of one in memory,
and of a real one, on which alone the effects can be seen that Kubernetes' own programs have.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator

import pytest
from tests.e2e import scripts
from tests.e2e.cluster import Cluster
from tests.e2e.cluster_api import until
from tests.e2e.command_line import det
from tests.e2e.kubernetes_page import (
    RACK,
    await_why,
    changed,
    claimed,
    example,
    kill,
    kubectl,
    of,
    private_registry,
    rows,
    settings,
    submit,
)
from tests.e2e.pods import Pods
from tests.e2e.pods_cluster import running_on
from tests.e2e.test_kubernetes import GANG
from tests.registry import Registry

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

GROWN = "determined.test/grown"
"""Label that a node gets when the autoscaler has added it."""
DOCKER = os.environ.get("DET_TEST_KUBERNETES_DOCKER", "")
"""The daemon of the real cluster's node, if that is this machine."""
STAYS = "import signal\nsignal.pause()\n"


@pytest.fixture(scope="module")
def cluster(pods: Pods) -> Iterator[Cluster]:
    with running_on(pods, lambda port: json.dumps(settings(pods, port))) as made:
        yield made


def test_a_pod_has_the_labels_and_the_variables_that_the_page_names(
    cluster: Cluster, pods: Pods
) -> None:
    experiment = submit(cluster, pods, STAYS)
    [pod] = until(lambda: of(pods, experiment), pods.limit_s, "its pod")
    meta, spec = pod["metadata"], pod["spec"]
    names = [name for cell in rows("label") for name in re.findall("`([^`]+)`", cell)]
    assert len(names) > 8
    for name in names:
        assert meta["labels"][name.replace("…", "determined.ai")]
    assert spec["priorityClassName"] == "determined-priority-50"
    notes = meta["annotations"]
    assert notes["cluster-autoscaler.kubernetes.io/safe-to-evict"] == "false"
    assert notes["karpenter.sh/do-not-disrupt"] == "true"
    named = {one["name"] for one in spec["containers"][0]["env"]}
    assert not named & {"DET_MASTER", "DET_TRIAL_ID"}
    if pods.is_real:
        until(lambda: phase(pods, experiment) == "Running", pods.limit_s, "a running pod")
        where = ("exec", meta["name"], "-n", pods.namespace, "--")
        assert "DET_TRIAL_ID" not in kubectl(*where, "env")
        kept = json.loads(kubectl(*where, "cat", "/run/determined-order/variables.json"))
        assert "DET_TRIAL_ID" in json.dumps(kept)
        secret = json.loads(
            kubectl("get", "secret", meta["name"], "-n", pods.namespace, "-o", "json")
        )
        [owner] = secret["metadata"]["ownerReferences"]
        assert owner["uid"] == meta["uid"]
    kill(cluster, pods, experiment)
    if pods.is_real:
        cluster_id = meta["labels"]["determined.ai/cluster_id"]
        kubectl("delete", "secrets", "-A", "-l", f"determined.ai/cluster_id={cluster_id}")


def phase(pods: Pods, experiment: int) -> str:
    [pod] = of(pods, experiment)
    found: str = pod["status"]["phase"]
    return found


def test_a_node_that_is_disabled_has_the_label_until_it_is_enabled(
    cluster: Cluster, pods: Pods
) -> None:
    node = sorted(cluster.connected())[0]
    assert node in det(cluster, "agent", "list")
    label = f"determined.ai/cluster-id-{cluster.get('/api/v1/master')['clusterId']}"

    def await_label(value: str | None) -> None:
        until(lambda: pods.labels(node).get(label) == value, pods.limit_s, f"the label {value}")

    for options, value in ((["--drain"], "no-schedule"), ([], "no-execute")):
        det(cluster, "agent", "disable", node, *options)
        await_label(value)
        det(cluster, "agent", "enable", node)
        await_label(None)


def test_a_trial_that_requires_a_rack_runs_in_one(cluster: Cluster, pods: Pods) -> None:
    wanted = example("topology")
    experiment = submit(cluster, pods, GANG, **wanted)
    await_why(cluster, pods, experiment, "rack")
    assert of(pods, experiment) == []
    node = sorted(cluster.connected())[0]
    pods.label(node, {RACK: "r1"})
    try:
        found = until(lambda: of(pods, experiment), pods.limit_s, "its pods")
        assert cluster.wait(experiment, pods.limit_s) == "COMPLETED"
        assert {pod["spec"].get("nodeName", node) for pod in found} == {node}
    finally:
        pods.label(node, {RACK: None})


def test_nodes_are_asked_for_a_task_that_fits_nowhere(cluster: Cluster, pods: Pods) -> None:
    if not pods.is_real:
        pytest.skip("tests/e2e/test_remote_kubernetes.py has it in memory")
    spec = {"spec": {"nodeSelector": {GROWN: "yes"}}}
    wanted = {"resources": {"slots_per_trial": 16}, "environment": {"pod_spec": spec}}
    experiment = submit(cluster, pods, GANG, **wanted)
    found = until(
        lambda: two if len(two := of(pods, experiment, waiting=True)) == 2 else None,
        pods.limit_s,
        "pods that stand for waiting ones",
    )
    given = example("autoscaling")["resource_manager"]["autoscaling"]
    for pod in found:
        assert pod["spec"]["containers"][0]["image"] == given["image"]
        cluster_id = pod["metadata"]["labels"]["determined.ai/cluster_id"]
        assert pod["spec"]["priorityClassName"] == f"determined-demand-{cluster_id}"
        assert pod["spec"]["nodeSelector"] == {GROWN: "yes"}
    assert of(pods, experiment) == []
    await_why(cluster, pods, experiment, "the cluster was asked for nodes for it at")
    node = sorted(cluster.connected())[0]
    pods.label(node, {GROWN: "yes"})
    try:
        assert cluster.wait(experiment, pods.limit_s) == "COMPLETED"
    finally:
        pods.label(node, {GROWN: None})
    until(lambda: not of(pods, experiment, waiting=True), pods.limit_s, "their withdrawal")


READS = """
import pathlib
import determined as det
text = pathlib.Path("/data/word").read_text()
with det.core.init() as context:
    context.train.report_validation_metrics(1, {"loss": len(text)})
"""


def test_the_pod_spec_of_the_page_waits_for_memory_and_mounts_its_claim(
    cluster: Cluster, pods: Pods
) -> None:
    if not pods.is_real:
        pytest.skip("pods of the cluster in memory have no file system of their own")
    wanted = example("pod_spec")
    as_it_stands = submit(cluster, pods, READS, **wanted)
    await_why(cluster, pods, as_it_stands, "less than 32Gi of memory")
    kill(cluster, pods, as_it_stands)
    (pods.shared / "images").mkdir()
    (pods.shared / "images" / "word").write_text("seven77")
    name = f"images-{pods.namespace}"
    with claimed(pods, name, "images"):
        smaller = json.loads(re.sub(r"\b(32|64)Gi", "512Mi", json.dumps(wanted)))
        experiment = submit(cluster, pods, READS, **smaller)
        assert cluster.wait(experiment, pods.limit_s) == "COMPLETED"
        [trial] = cluster.trials(experiment)
        assert cluster.summed(trial["id"], "validation_metrics", 1)["last"] == 7
        until(lambda: not of(pods, experiment), pods.limit_s, "removed pods")


def test_a_pool_of_kueue_needs_kueue(cluster: Cluster, pods: Pods) -> None:
    experiment = submit(cluster, pods, scripts.LEDGER, resources={"resource_pool": "shared"})
    assert cluster.wait(experiment, pods.limit_s) == "ERROR"
    [trial] = cluster.trials(experiment)
    assert "kueue does not manage pods of namespace" in cluster.text(trial["id"])
    until(lambda: not of(pods, experiment), pods.limit_s, "removed pods")


def test_pods_of_coscheduler_are_one_group(cluster: Cluster, pods: Pods) -> None:
    if not pods.is_real:
        pytest.skip("tests/backends/kubernetes/test_handover.py has it in memory")
    with changed(cluster, pods, default_scheduler="coscheduler"):
        experiment = submit(cluster, pods, STAYS, resources={"slots_per_trial": 16})
        found = until(
            lambda: two if len(two := of(pods, experiment)) == 2 else None,
            pods.limit_s,
            "both pods",
        )
        [group] = {pod["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] for pod in found}
        for pod in found:
            assert pod["spec"]["schedulerName"] == "coscheduler"
            labels = pod["metadata"]["labels"]
            assert labels["pod-group.scheduling.sigs.k8s.io/name"] == group
            assert labels["pod-group.scheduling.sigs.k8s.io/min-available"] == "2"
        kill(cluster, pods, experiment)


def test_devices_of_a_class_need_a_cluster_that_has_them(cluster: Cluster, pods: Pods) -> None:
    if not pods.is_real:
        pytest.skip("the cluster in memory serves resource.k8s.io")
    manager = dict(example("device_class")["resource_manager"])
    manager["slot_resource_requests"] = {}
    with changed(cluster, pods, "autoscaling", **manager):
        until(
            lambda: (
                "does not serve resource.k8s.io"
                in det(cluster, "resource-pool", "list", warns=True)
            ),
            pods.limit_s,
            "the missing API",
        )
        config = {
            "environment": {"image": pods.image},
            "entrypoint": ["true"],
            "resources": {"slots": 0},
        }
        task = cluster.post("/api/v1/commands", {"config": config})["command"]["id"]
        until(
            lambda: "TERMINATED" in cluster.get(f"/api/v1/commands/{task}")["command"]["state"],
            pods.limit_s,
            "the end of a task without slots",
        )


@pytest.fixture
def private(pods: Pods) -> Iterator[Registry]:
    """A registry with a password, on the machine of the real cluster's node."""
    if not (pods.is_real and DOCKER):
        pytest.skip("DET_TEST_KUBERNETES_DOCKER names no Docker daemon of a cluster's node")
    with private_registry(DOCKER) as made:
        yield made


def test_an_image_of_a_private_registry_is_pulled_with_the_tasks_password(
    cluster: Cluster, pods: Pods, private: Registry
) -> None:
    def told(password: str) -> str:
        auth = {"username": "alice", "password": password, "serveraddress": private.host}
        environment = {"image": private.image, "registry_auth": auth}
        experiment = submit(cluster, pods, STAYS, environment=environment)
        [pod] = until(lambda: of(pods, experiment), pods.limit_s, "its pod")
        first = pod["spec"]["imagePullSecrets"][0]["name"]
        assert first == f"{pod['metadata']['name']}-pull"
        assert cluster.wait(experiment, pods.limit_s) == "ERROR"
        [trial] = cluster.trials(experiment)
        return cluster.text(trial["id"])

    said = told("wrong")
    assert f"the image {private.image} cannot be pulled: " in said
    assert "unauthorized; look at environment.image" in said
    assert private.pulls == 0
    # A pod that has the image cannot start, because the image has no program.
    assert '"python3": executable file not found' in told(private.password)
    assert private.pulls == 1
