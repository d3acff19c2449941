"""The page on clouds: the chart takes its examples, and refuses an open Service of plain HTTP."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from tests import pages
from tests.deploy.helm.rendering import RELEASE, pod_of, refusal, render, settings_of
from tests.named_tests import exists

pytestmark = pytest.mark.slow

PAGE = "kubernetes-clouds.md"
BLOCKS = [block for block in pages.blocks(PAGE) if block.kind == "yaml"]
EXAMPLES: list[dict[str, Any]] = [
    YAML(typ="safe").load(block.text) for block in BLOCKS if block.title is None
]
CLOSED = {"maxSlotsPerPod": 1, "allowPublicHttp": False}
"""Values that the other tests of the chart open."""
SERVICE = ("Service", f"determined-master-service-{RELEASE}")
MASTER = ("Deployment", f"determined-master-deployment-{RELEASE}")
NOT_RUN = {
    "kubectl --namespace default create": "it makes what the page's cluster is asked for",
    "kubectl --namespace default annotate": "the webhook of EKS reads it",
    "kubectl apply --filename gp3.yaml": "the driver of EBS is EKS's",
}
"""Commands of the page that no test runs, by their beginning, and why."""


def example(key: str, **more: Any) -> dict[str, Any]:
    [found] = [one for one in EXAMPLES if key in one]
    return {**CLOSED, **found, **more}


def test_an_open_service_of_plain_http_is_refused_with_the_remedies(tmp_path: Path) -> None:
    text = refusal(CLOSED, tmp_path)
    assert "would serve plain HTTP to everybody" in text
    for remedy in ("tlsSecret", "loadBalancerSourceRanges", "masterService", "allowPublicHttp"):
        assert remedy in text


@pytest.mark.parametrize(
    "key", ["tlsSecret", "loadBalancerSourceRanges", "masterService", "allowPublicHttp"]
)
def test_each_remedy_of_the_page_is_enough(key: str, tmp_path: Path) -> None:
    service = render(example(key), tmp_path)[SERVICE]
    assert service["spec"]["type"] == "LoadBalancer"


@pytest.mark.parametrize("cloud", ["aws-load-balancer-scheme", "gke.io", "azure-load-balancer"])
def test_each_annotation_of_an_internal_load_balancer_is_enough(
    cloud: str, tmp_path: Path
) -> None:
    given = example("masterService")["masterService"]["annotations"]
    [(key, value)] = [(key, value) for key, value in given.items() if cloud in key]
    render({**CLOSED, "masterService": {"annotations": {key: value}}}, tmp_path)


@pytest.mark.parametrize(
    "annotations",
    [
        {"service.beta.kubernetes.io/azure-load-balancer-internal": "false"},
        {"service.beta.kubernetes.io/aws-load-balancer-scheme": "internet-facing"},
    ],
)
def test_other_annotations_are_not_enough(annotations: dict[str, str], tmp_path: Path) -> None:
    values = {**CLOSED, "masterService": {"annotations": annotations}}
    assert "would serve plain HTTP" in refusal(values, tmp_path)


@pytest.mark.parametrize(
    "values",
    [
        {"ingress": {"enabled": True}},
        {"openshiftRoute": {"enabled": True}},
        {"useNodePortForMaster": True},
    ],
    ids=lambda one: next(iter(one)),
)
def test_other_ways_to_the_master_are_not_concerned(
    values: dict[str, Any], tmp_path: Path
) -> None:
    assert render({**CLOSED, **values}, tmp_path)[SERVICE]["spec"]["type"] != "LoadBalancer"


def test_the_database_has_the_class_of_the_page(tmp_path: Path) -> None:
    [text] = [block.text for block in BLOCKS if block.title == "gp3.yaml"]
    name = YAML(typ="safe").load(text)["metadata"]["name"]
    objects = render(example("db", allowPublicHttp=True), tmp_path)
    claim = objects["PersistentVolumeClaim", f"determined-db-pvc-{RELEASE}"]
    assert claim["spec"]["storageClassName"] == name


def test_the_accounts_of_master_and_tasks_are_mapped_to_a_role(tmp_path: Path) -> None:
    given = example("serviceAccount", allowPublicHttp=True)
    account = render(given, tmp_path)["ServiceAccount", f"determined-master-{RELEASE}"]
    assert account["metadata"]["annotations"] == given["serviceAccount"]["annotations"]
    [defaults] = [one for one in EXAMPLES if "determined-tasks" in json.dumps(one)]
    objects = render({**CLOSED, **defaults, "allowPublicHttp": True}, tmp_path)
    text = objects["Secret", f"determined-master-config-{RELEASE}"]["stringData"]["master.yaml"]
    assert text.count("serviceAccountName: determined-tasks") == 2
    settings_of(objects, tmp_path)


def test_private_images_are_pulled_by_master_and_tasks(tmp_path: Path) -> None:
    objects = render(example("imagePullSecretName", allowPublicHttp=True), tmp_path)
    assert pod_of(objects[MASTER])["imagePullSecrets"] == [{"name": "registry"}]
    text = objects["Secret", f"determined-master-config-{RELEASE}"]["stringData"]["master.yaml"]
    assert text.count("imagePullSecrets:") == 2
    settings_of(objects, tmp_path)
    assert exists(
        "tests/e2e/test_kubernetes_page.py::"
        "test_an_image_of_a_private_registry_is_pulled_with_the_tasks_password"
    )


def test_each_command_of_the_page_has_a_reason() -> None:
    assert pages.unexplained(pages.commands(PAGE), (), NOT_RUN) == []
    assert pages.stale(pages.commands(PAGE), NOT_RUN) == []
