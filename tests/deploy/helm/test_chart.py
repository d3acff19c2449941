"""The objects of the chart: names, labels, rights, probes, volumes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from tests.covers import covers
from tests.deploy.helm.files import VALUES
from tests.deploy.helm.rendering import (
    CHART,
    NAMESPACE,
    container_of,
    helm,
    pod_of,
    refusal,
    render,
)

from determined_master.domain.config.layers import TASK_CONTAINER_DEFAULTS
from determined_wire import images

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.slow
MASTER = ("Deployment", "determined-master-deployment-r1")
DB = ("Deployment", "determined-db-deployment-r1")
ROLE = ("ClusterRole", "determined-master-r1")


def rights(role: dict[str, Any]) -> dict[str, set[str]]:
    """Verbs by group and resource."""
    found: dict[str, set[str]] = {}
    for rule in role["rules"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                found.setdefault(f"{group}/{resource}", set()).update(rule["verbs"])
    return found


def documented(heading: str = "## Permissions of the master's account") -> dict[str, set[str]]:
    """The rights of the table below a heading in docs/kubernetes-permissions.md."""
    text = (ROOT / "docs/kubernetes-permissions.md").read_text()
    table = text.split(f"\n{heading}\n")[1].split("\n##")[0]
    found = {}
    for group, resources, verbs in re.findall(r"^\| (\S+) \| (.+?) \| (.+?) \|$", table, re.M):
        if group not in ("group", "---"):
            for resource in resources.split(", "):
                found[f"{'' if group == 'core' else group}/{resource}"] = set(verbs.split(", "))
    return found


@pytest.mark.parametrize("name", VALUES)
def test_helm_lint_accepts_the_chart(name: str, tmp_path: Path) -> None:
    done = helm("lint", str(CHART), "--strict", values=VALUES[name], directory=tmp_path)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", VALUES)
def test_scripts_find_the_objects_by_name_and_label(name: str, tmp_path: Path) -> None:
    objects = render(VALUES[name], tmp_path)
    service = objects["Service", "determined-master-service-r1"]
    assert service["metadata"]["labels"]["determined.ai/master-service"] == "true"
    pod = objects[MASTER]["spec"]["template"]
    labels = {"app": "determined-master-r1", "determined-system": "master"}
    assert labels.items() <= pod["metadata"]["labels"].items()
    assert pod["metadata"]["labels"]["release-namespace"] == NAMESPACE
    # The selectors of a Deployment cannot change: an upgrade needs these very ones.
    assert objects[MASTER]["spec"]["selector"] == {"matchLabels": {"app": "determined-master-r1"}}
    assert service["spec"]["selector"] == {"app": "determined-master-r1"}
    has_db = "hostAddress" not in VALUES[name].get("db", {})
    assert (DB in objects) is has_db
    if has_db:
        assert objects[DB]["spec"]["selector"] == {"matchLabels": {"app": "determined-db-r1"}}
        assert ("Service", "determined-db-service-r1") in objects


@covers("helm-and-kubernetes 14.leftovers")
def test_no_object_of_the_chart_has_the_label_of_tasks(tmp_path: Path) -> None:
    """`kubectl delete -l determined` removes what tasks left, and nothing of the chart."""
    for one in render(VALUES["ingress"], tmp_path).values():
        assert "determined" not in one["metadata"].get("labels", {})
        pod = one["spec"].get("template", {}) if one["kind"] == "Deployment" else {}
        assert "determined" not in pod.get("metadata", {}).get("labels", {})


@covers("helm-and-kubernetes 3.rules")
def test_the_rights_are_those_of_the_documents_table(tmp_path: Path) -> None:
    assert rights(render(VALUES["smallest"], tmp_path)[ROLE]) == documented()


DEMAND = {"demand": "provisioning_request"}


@pytest.mark.parametrize(
    "more",
    [{"autoscaling": DEMAND}, {"masterConfig": {"resource_manager": {"autoscaling": DEMAND}}}],
)
def test_rights_on_requests_for_nodes_come_with_the_setting(
    more: dict[str, Any], tmp_path: Path
) -> None:
    found = rights(render({**VALUES["smallest"], **more}, tmp_path)[ROLE])
    added = {key: verbs for key, verbs in found.items() if documented().get(key) != verbs}
    assert added == documented("## For ProvisioningRequests")
    others = render({**VALUES["smallest"], "autoscaling": {"demand": "pods"}}, tmp_path)
    assert rights(others[ROLE]) == documented()


KUEUE = [{"pool_name": "default", "scheduler": {"type": "kueue", "queue_name": "lab"}}]


@pytest.mark.parametrize(
    ("more", "heading"),
    [
        ({"resourcePools": KUEUE}, "## For kueue"),
        ({"masterConfig": {"resource_pools": KUEUE}}, "## For kueue"),
        ({"defaultScheduler": "coscheduler"}, "## For coscheduler"),
        (
            {"masterConfig": {"resource_manager": {"reach_tasks": "port_forward"}}},
            "## For port forwarding",
        ),
        (
            {"masterConfig": {"resource_manager": {"device_class": "gpu.nvidia.com"}}},
            "## For devices",
        ),
    ],
)
def test_rights_for_a_part_of_the_cluster_come_with_the_setting(
    more: dict[str, Any], heading: str, tmp_path: Path
) -> None:
    found = rights(render({**VALUES["smallest"], **more}, tmp_path)[ROLE])
    added = {key: verbs for key, verbs in found.items() if documented().get(key) != verbs}
    assert added == documented(heading)


TASK_GATEWAY = {"gateway_name": "tasks", "gateway_namespace": "edge", "gateway_ip": "10.0.0.9"}


def test_rights_for_a_gateway_come_with_the_setting_and_end_at_its_name(tmp_path: Path) -> None:
    manager = {"resource_manager": {"internal_task_gateway": TASK_GATEWAY}}
    objects = render({**VALUES["smallest"], "masterConfig": manager}, tmp_path)
    [role] = [one for (kind, _), one in objects.items() if kind == "Role"]
    assert role["metadata"]["namespace"] == "edge"
    assert [rule["resourceNames"] for rule in role["rules"]] == [["tasks"]]
    found = {**rights(objects[ROLE]), **rights(role)}
    added = {key: verbs for key, verbs in found.items() if documented().get(key) != verbs}
    assert added == documented("## For a Gateway")
    [bound] = [one for (kind, _), one in objects.items() if kind == "RoleBinding"]
    assert bound["roleRef"]["name"] == role["metadata"]["name"]
    assert bound["metadata"]["namespace"] == "edge"


def test_rights_on_routes_end_at_the_given_namespaces(tmp_path: Path) -> None:
    manager = {"resource_manager": {"internal_task_gateway": TASK_GATEWAY}}
    rbac = {"taskNamespaces": ["ns1"]}
    given = {**VALUES["smallest"], "masterConfig": manager, "rbac": rbac}
    objects = render(given, tmp_path)
    assert not {"/services", "gateway.networking.k8s.io/tcproutes"} & rights(objects[ROLE]).keys()
    tasks = objects["Role", "determined-master-r1"]
    assert tasks["metadata"]["namespace"] == "ns1"
    assert rights(tasks)["/services"] == {"create", "delete"}


def test_rights_on_requests_for_nodes_end_at_the_given_namespaces(tmp_path: Path) -> None:
    rbac = {"taskNamespaces": ["ns1"], "watchTaskNamespacesOnly": True}
    objects = render({**VALUES["smallest"], "autoscaling": DEMAND, "rbac": rbac}, tmp_path)
    key = "autoscaling.x-k8s.io/provisioningrequests"
    assert key not in rights(objects[ROLE])
    [role] = [one for (kind, _), one in objects.items() if kind == "Role"]
    assert rights(role)[key] == {"create", "list", "delete"}


def test_rights_on_claims_end_at_the_given_namespaces(tmp_path: Path) -> None:
    rbac = {"taskNamespaces": ["ns1"], "watchTaskNamespacesOnly": True}
    more = {"masterConfig": {"resource_manager": {"device_class": "gpu.nvidia.com"}}}
    objects = render({**VALUES["smallest"], **more, "rbac": rbac}, tmp_path)
    claims = "resource.k8s.io/resourceclaims"
    assert claims not in rights(objects[ROLE])
    assert rights(objects[ROLE])["resource.k8s.io/resourceslices"] == {"list", "watch"}
    [role] = [one for (kind, _), one in objects.items() if kind == "Role"]
    assert rights(role)[claims] == {"create", "list", "watch"}


@covers("helm-and-kubernetes 3.namespaces")
def test_a_master_may_see_pods_of_the_given_namespaces_only(tmp_path: Path) -> None:
    rbac = {
        "taskNamespaces": ["ns1", "team-b"],
        "watchTaskNamespacesOnly": True,
        "manageNamespaces": False,
    }
    objects = render({**VALUES["smallest"], "rbac": rbac}, tmp_path)
    whole = rights(objects[ROLE])
    assert not {"/pods", "/events", "/resourcequotas", "/limitranges"} & whole.keys()
    assert whole["/nodes"] == {"list", "watch", "patch"}
    text = objects["Secret", "determined-master-config-r1"]["stringData"]["master.yaml"]
    assert YAML(typ="safe").load(text)["resource_manager"]["namespaces"] == ["ns1", "team-b"]
    rbac = {**rbac, "taskNamespaces": ["team-b"]}
    said = refusal({**VALUES["smallest"], "rbac": rbac}, tmp_path)
    assert "rbac.taskNamespaces must have ns1" in said


def test_rights_on_pods_and_secrets_end_at_the_given_namespaces(tmp_path: Path) -> None:
    objects = render(VALUES["several_clusters"], tmp_path)
    whole = rights(objects[ROLE])
    assert "/secrets" not in whole
    assert whole["/pods"] == {"list", "watch"}
    assert whole["/namespaces"] == {"get"}
    roles = [one for (kind, _), one in objects.items() if kind == "Role"]
    text = helm(
        *("template", "r1", str(CHART), "--namespace", NAMESPACE),
        values=VALUES["several_clusters"],
        directory=tmp_path,
    ).stdout
    found = [one for one in YAML(typ="safe").load_all(text) if one and one["kind"] == "Role"]
    assert [one["metadata"]["namespace"] for one in found] == ["tasks", "team-b"]
    assert rights(roles[0])["/secrets"] == {"create"}


@pytest.mark.parametrize("name", VALUES)
def test_every_container_has_probes_and_no_privileges(name: str, tmp_path: Path) -> None:
    objects = render(VALUES[name], tmp_path)
    for key in (MASTER, DB):
        if key in objects:
            container = container_of(objects[key])
            assert {"startupProbe", "readinessProbe", "livenessProbe"} <= container.keys()
            assert pod_of(objects[key])["automountServiceAccountToken"] is False
    if name not in ("route", "own_database"):
        for key in (MASTER, DB):
            assert pod_of(objects[key])["securityContext"]["runAsNonRoot"] is True
            context = container_of(objects[key])["securityContext"]
            assert context["allowPrivilegeEscalation"] is False
            assert context["capabilities"] == {"drop": ["ALL"]}


def test_a_master_that_migrates_a_large_database_has_an_hour(tmp_path: Path) -> None:
    probe = container_of(render(VALUES["smallest"], tmp_path)[MASTER])["startupProbe"]
    assert probe["periodSeconds"] * probe["failureThreshold"] == 3600


@pytest.mark.parametrize("name", VALUES)
def test_every_mount_has_its_volume(name: str, tmp_path: Path) -> None:
    for (kind, _), one in render(VALUES[name], tmp_path).items():
        if kind == "Deployment":
            pod = pod_of(one)
            volumes = {volume["name"] for volume in pod["volumes"]}
            containers = [*pod.get("initContainers", ()), *pod["containers"]]
            mounts = {m["name"] for c in containers for m in c["volumeMounts"]}
            assert mounts == volumes


@covers("helm-and-kubernetes 1.1.tls")
def test_tls_is_served_and_probed(tmp_path: Path) -> None:
    objects = render({"maxSlotsPerPod": 1, "tlsSecret": "cert"}, tmp_path)
    assert container_of(objects[MASTER])["livenessProbe"]["httpGet"]["scheme"] == "HTTPS"
    volumes = {v["name"]: v for v in pod_of(objects[MASTER])["volumes"]}
    assert volumes["tls"] == {"name": "tls", "secret": {"secretName": "cert"}}
    text = objects["Secret", "determined-master-config-r1"]["stringData"]["master.yaml"]
    tls = YAML(typ="safe").load(text)["security"]["tls"]
    mount = next(m for m in container_of(objects[MASTER])["volumeMounts"] if m["name"] == "tls")
    assert tls == {"cert": f"{mount['mountPath']}/tls.crt", "key": f"{mount['mountPath']}/tls.key"}


@covers("helm-and-kubernetes 1.1.node_port")
@pytest.mark.parametrize(
    ("name", "kind"),
    [("gpus", "LoadBalancer"), ("older", "NodePort"), ("ingress", "ClusterIP")],
)
def test_the_service_has_the_wanted_type(name: str, kind: str, tmp_path: Path) -> None:
    service = render(VALUES[name], tmp_path)["Service", "determined-master-service-r1"]
    assert service["spec"]["type"] == kind


def test_an_older_release_keeps_its_volume(tmp_path: Path) -> None:
    claim = render(VALUES["older"], tmp_path, "--is-upgrade")[
        "PersistentVolumeClaim", "determined-db-pvc-r1"
    ]
    # The fields of a claim cannot change, but for its size.
    assert claim["spec"] == {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "standard",
        "resources": {"requests": {"storage": "30Gi"}},
    }
    assert claim["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}


@covers("helm-and-kubernetes 1.3.snapshot 1.3.restore")
def test_a_snapshot_is_made_on_an_upgrade_and_restored_by_another(tmp_path: Path) -> None:
    made = render({"maxSlotsPerPod": 1, "db": {"snapshotSuffix": "s"}}, tmp_path, "--is-upgrade")
    snapshot = made["VolumeSnapshot", "determined-db-snapshot-s"]
    assert snapshot["spec"]["source"] == {"persistentVolumeClaimName": "determined-db-pvc-r1"}
    values = {"maxSlotsPerPod": 1, "db": {"restoreSnapshotSuffix": "s"}}
    restored = render(values, tmp_path, "--is-upgrade")
    claim = restored["PersistentVolumeClaim", "determined-db-pvc-s"]
    assert claim["spec"]["dataSource"]["name"] == "determined-db-snapshot-s"
    volumes = {v["name"]: v for v in pod_of(restored[DB])["volumes"]}
    assert volumes["data"]["persistentVolumeClaim"] == {"claimName": "determined-db-pvc-s"}


@covers("helm-and-kubernetes 1.2.first_password")
def test_the_random_password_follows_the_rule_for_given_ones(tmp_path: Path) -> None:
    secret = render(VALUES["smallest"], tmp_path)["Secret", "determined-passwords-r1"]
    for password in secret["stringData"].values():
        assert len(password) >= 16
        assert all(re.search(kind, password) for kind in ("[A-Z]", "[a-z]", "[0-9]"))


@covers("helm-and-kubernetes 1.1.version")
def test_the_image_is_that_of_this_version(tmp_path: Path) -> None:
    container = container_of(render(VALUES["smallest"], tmp_path)[MASTER])
    assert container["image"] == images.published("master")


def test_the_schema_has_every_key_of_the_values_and_of_task_container_defaults() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())["properties"]
    values = YAML(typ="safe").load((CHART / "values.yaml").read_text())
    assert {key for key in values if key not in schema} == set()
    known = schema["taskContainerDefaults"]["properties"]
    assert TASK_CONTAINER_DEFAULTS.fields.keys() <= known.keys()


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({"maxSlotPerPod": 1}, "maxSlotPerPod"),
        ({"db": {"pasword": "x"}}, "pasword"),
        ({"checkpointStorage": {"buket": "x"}}, "buket"),
        ({"taskContainerDefaults": {"cpuPodSpek": {}}}, "cpuPodSpek"),
        ({"security": {"tls": {}}}, "tls"),
        ({"masterPort": 70000}, "masterPort"),
        ({"slotType": "tpu"}, "slotType"),
        ({"db": {"sslMode": "maybe"}}, "sslMode"),
    ],
)
def test_unknown_keys_and_values_are_refused_by_name(
    values: dict[str, Any], word: str, tmp_path: Path
) -> None:
    assert word in refusal({"maxSlotsPerPod": 1, **values}, tmp_path)


@covers("helm-and-kubernetes 1.2.first_password 1.2.identity 1.4.slots_per_pod 1.4.cpu_slots")
@covers("helm-and-kubernetes 1.4.azure 1.4.logging 1.4.genai 1.4.additional")
@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"maxSlotsPerPod": None}, "maxSlotsPerPod must be set"),
        ({"slotType": "cpu"}, "slotResourceRequests.cpu must say"),
        ({"initialUserPassword": "short"}, "initialUserPassword must have at least 8"),
        ({"initialUserPassword": "nodigitsHere"}, "and a digit"),
        ({"db": {"hostAddress": "h"}}, "db.password must be set"),
        ({"oidc": {"enabled": True}}, "oidc.enabled must be false"),
        ({"logging": {"type": "loki"}}, "logging.type must be default, not loki"),
        ({"determinedMasterPort": 1}, "need determinedMasterHost"),
        ({"checkpointStorage": {"type": "s3"}}, "checkpointStorage.bucket must be set"),
        (
            {
                "checkpointStorage": {
                    "type": "azure",
                    "container": "c",
                    "connection_string": "x",
                    "credential": "key",
                }
            },
            "connection_string must not be set with",
        ),
        (
            {"additional_resource_managers": [{"resource_manager": {}, "resource_pools": [{}]}]},
            "additional_resource_managers[0].resource_manager.kubeconfig_secret_name",
        ),
    ],
)
def test_contradictory_values_are_refused_with_the_remedy(
    values: dict[str, Any], text: str, tmp_path: Path
) -> None:
    assert text in refusal({"maxSlotsPerPod": 1, **values}, tmp_path)


@pytest.mark.parametrize("name", ["r" * 38, "lab.east"])
def test_a_release_whose_name_is_in_no_service_is_refused(name: str, tmp_path: Path) -> None:
    done = helm("template", name, str(CHART), values={"maxSlotsPerPod": 1}, directory=tmp_path)
    assert done.returncode != 0
    assert f"the name of the release, {name}, must have at most 37 characters" in done.stderr


def test_the_longest_name_of_a_release_is_in_every_name(tmp_path: Path) -> None:
    name = "r" * 37
    done = helm("template", name, str(CHART), values={"maxSlotsPerPod": 1}, directory=tmp_path)
    assert done.returncode == 0, done.stderr
    objects = [one for one in YAML(typ="safe").load_all(done.stdout) if one]
    services = [one["metadata"]["name"] for one in objects if one["kind"] == "Service"]
    assert max(map(len, services)) == 63
    for one in objects:
        meta = one["metadata"]
        labels = [*(meta.get("labels") or {}).values()]
        if one["kind"] == "Deployment":
            template = one["spec"]["template"]
            labels += template["metadata"]["labels"].values()
            labels += [container["name"] for container in template["spec"]["containers"]]
        assert max(map(len, labels), default=0) <= 63
