"""The rendered master.yaml is read by the master's own reader of settings."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from tests.covers import covers
from tests.deploy.helm.files import VALUES
from tests.deploy.helm.rendering import render, settings_of

from determined_master.settings.kubernetes.resource_manager import KubernetesManager

pytestmark = pytest.mark.slow
SEEDS = range(12)


def drawn(seed: int) -> dict[str, Any]:
    """Parts of several files of values, one over the other."""
    chance = random.Random(seed)
    names = chance.sample(sorted(VALUES), 4)
    values: dict[str, Any] = {}
    for name in names:
        sections = sorted(VALUES[name])
        for key in chance.sample(sections, chance.randint(1, len(sections))):
            values[key] = VALUES[name][key]
    if values.get("slotType") == "cpu":
        values["slotResourceRequests"] = {"cpu": chance.choice((1, 0.25, 3))}
    if "ingress" in values:
        values.pop("openshiftRoute", None)
    if "determinedMasterHost" not in values:
        values.pop("determinedMasterPort", None)
        values.pop("determinedMasterScheme", None)
    if "resourcePools" not in values:
        values.pop("defaultComputeResourcePool", None)
    return {"maxSlotsPerPod": 2, **values}


@pytest.mark.parametrize("name", VALUES)
def test_the_master_accepts_what_the_chart_renders(name: str, tmp_path: Path) -> None:
    settings = settings_of(render(VALUES[name], tmp_path), tmp_path)
    manager = settings.resource_manager
    assert isinstance(manager, KubernetesManager)
    assert manager.max_slots_per_pod == VALUES[name]["maxSlotsPerPod"]
    assert settings.port == 8081
    if settings.proxy.port:  # a load balancer: nothing else leads to a second port
        assert settings.proxy.port == 9081
        assert settings.proxy.address in ("http://{host}:9080", "https://{host}:9080")
    assert settings.db.host
    assert settings.db.password
    assert settings.security.initial_user_password


@pytest.mark.parametrize("seed", SEEDS)
def test_the_master_accepts_mixtures_of_values(seed: int, tmp_path: Path) -> None:
    settings_of(render(drawn(seed), tmp_path), tmp_path)


@covers("helm-and-kubernetes 1.4.saved 1.4.task_defaults 1.4.timeouts 1.4.retention")
@covers("helm-and-kubernetes 1.4.prometheus")
def test_older_values_keep_their_meaning(tmp_path: Path) -> None:
    settings = settings_of(render(VALUES["older"], tmp_path), tmp_path)
    defaults = settings.task_container_defaults
    assert defaults["cpu_pod_spec"] == {"spec": {"tolerations": [{"operator": "Exists"}]}}
    assert defaults["gpu_pod_spec"] == {"metadata": {"labels": {"team": "a"}}}
    assert defaults["dtrain_network_interface"] == "eth0"
    assert defaults["force_pull_image"] is True
    assert defaults["startup_hook"] == "echo hello"
    assert defaults["image"]["cpu"] == "registry/cpu:2"
    assert settings.security.initial_user_password == "Password1"
    assert settings.tensorboard_timeout == 600
    assert settings.notebook_timeout == 1200
    assert settings.retention_policy.log_retention_days == 0
    assert settings.observability.enable_prometheus is False
    storage = settings.checkpoint_storage
    assert storage is not None
    assert storage["save_trial_best"] == storage["save_trial_latest"] == 0


@covers("helm-and-kubernetes 1.4.namespace 4.service")
def test_tasks_reach_the_master_by_its_service(tmp_path: Path) -> None:
    manager = settings_of(render(VALUES["older"], tmp_path), tmp_path).resource_manager
    assert isinstance(manager, KubernetesManager)
    host = "determined-master-service-r1.ns1.svc.cluster.local"
    assert (manager.determined_master_host, manager.determined_master_port) == (host, 80)
    assert manager.default_namespace == "ns1"


@covers("helm-and-kubernetes 1.4.additional 1.4.master_address 18.remote")
def test_other_clusters_have_their_kubeconfigs(tmp_path: Path) -> None:
    settings = settings_of(render(VALUES["several_clusters"], tmp_path), tmp_path)
    near, far = (manager.config for manager in settings.managers)
    assert isinstance(near, KubernetesManager)
    assert isinstance(far, KubernetesManager)
    assert near.default_namespace == "tasks"
    assert near.determined_master_scheme == "https"
    assert far.kubeconfig_path == "/mount/determined/secrets/0/config"


def test_other_settings_come_by_master_config(tmp_path: Path) -> None:
    settings = settings_of(render(VALUES["placed"], tmp_path), tmp_path)
    assert settings.launch_error is False
    assert settings.webhooks.base_url == "https://det.example"


PUBLIC = {"authorities", "db-certificate"}
"""Volumes of the master with certificates of authorities alone."""


@pytest.mark.parametrize("name", VALUES)
def test_tasks_may_not_name_what_the_master_and_the_database_have(
    name: str, tmp_path: Path
) -> None:
    """By default tasks run in the namespace of the release, where a pod can mount every Secret."""
    objects = render(VALUES[name], tmp_path)
    manager = settings_of(objects, tmp_path).resource_manager
    assert isinstance(manager, KubernetesManager)
    taken: set[str] = set()
    for (kind, _), item in objects.items():
        spec = item.get("spec") or {}
        if kind == "Service":
            taken |= set(spec["selector"].values())
        if kind == "Ingress":
            taken |= {one["secretName"] for one in spec.get("tls") or ()}
        if kind in ("Secret", "PersistentVolumeClaim"):
            taken.add(item["metadata"]["name"])
        if kind == "Deployment":
            pod = spec["template"]["spec"]
            taken |= {pod.get("serviceAccountName", "default")} - {"default"}
            for volume in pod["volumes"]:
                if "secret" in volume and volume["name"] not in PUBLIC:
                    taken.add(volume["secret"]["secretName"])
                if "persistentVolumeClaim" in volume:
                    taken.add(volume["persistentVolumeClaim"]["claimName"])
    assert len(taken) >= 3
    assert taken <= set(manager.reserved_names)
