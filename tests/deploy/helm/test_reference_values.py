"""Values of the 0.38.1 chart keep their meaning: what each of them changes in the objects."""

from __future__ import annotations

import shutil
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
    settings_of,
)

from determined_master.settings.kubernetes.resource_manager import KubernetesManager
from determined_master.settings.master import Settings

pytestmark = pytest.mark.slow
R = "helm-and-kubernetes"
MASTER = ("Deployment", "determined-master-deployment-r1")
DB = ("Deployment", "determined-db-deployment-r1")
SERVICE = ("Service", "determined-master-service-r1")
Objects = dict[tuple[str, str], dict[str, Any]]


def with_values(directory: Path, *options: str, **values: Any) -> Objects:
    return render({"maxSlotsPerPod": 1, **values}, directory, *options)


def settings_with(directory: Path, **values: Any) -> Settings:
    return settings_of(with_values(directory, **values), directory)


def manager_with(directory: Path, **values: Any) -> KubernetesManager:
    found = settings_with(directory, **values).resource_manager
    assert isinstance(found, KubernetesManager)
    return found


@covers(f"{R} 1.1.registry 1.1.edition 1.1.pull_secret 1.1.version 1.1.postgres")
def test_images_come_from_the_given_registry_and_version(tmp_path: Path) -> None:
    objects = with_values(
        tmp_path,
        imageRegistry="lab.example/det",
        imagePullSecretName="pull",
        enterpriseEdition=True,
        detVersion="1a2b3c4",
        defaultImages={"postgreSQL": "lab.example/pg:17"},
    )
    assert container_of(objects[MASTER])["image"] == "lab.example/det/determined-master:1a2b3c4"
    assert container_of(objects[DB])["image"] == "lab.example/pg:17"
    for key in (MASTER, DB):
        assert pod_of(objects[key])["imagePullSecrets"] == [{"name": "pull"}]


@covers(f"{R} 1.1.task_images 1.1.scheduler_image")
def test_images_of_tasks_are_those_of_the_task_defaults_then_the_default_images(
    tmp_path: Path,
) -> None:
    settings = settings_with(
        tmp_path,
        defaultImages={"cpuImage": "c:1", "gpuImage": "g:1", "rocmImage": "r:1"}
        | {"kubeScheduler": "s:1"},
        taskContainerDefaults={"gpuImage": "g:2"},
    )
    image = settings.task_container_defaults["image"]
    assert image == {"cpu": "c:1", "cuda": "g:2", "rocm": "r:1"}


@covers(f"{R} 1.1.log 1.1.cluster_name 1.4.manager_name")
def test_the_log_and_the_names_of_the_cluster_are_set(tmp_path: Path) -> None:
    settings = settings_with(
        tmp_path,
        logLevel="debug",
        logColor=False,
        clusterName="vision",
        resourceManager={"clusterName": "near"},
    )
    assert (settings.log.level, settings.log.color) == ("debug", False)
    assert settings.cluster_name == "vision"
    assert [manager.name for manager in settings.managers] == ["near"]


@covers(f"{R} 1.1.port 1.1.source_ranges 1.1.annotations 2.service")
def test_the_service_has_its_port_ranges_and_annotations(tmp_path: Path) -> None:
    service = with_values(
        tmp_path,
        masterPort=9000,
        loadBalancerSourceRanges=["10.0.0.0/8"],
        masterService={"annotations": {"a": "b"}},
    )[SERVICE]
    port, services = service["spec"]["ports"]
    assert (port["port"], port["targetPort"]) == (9000, 8081)
    assert (services["port"], services["targetPort"]) == (10000, 9081)
    assert service["spec"]["loadBalancerSourceRanges"] == ["10.0.0.0/8"]
    assert service["metadata"]["annotations"] == {"a": "b"}
    assert service["metadata"]["labels"]["determined.ai/master-service"] == "true"


@covers(f"{R} 1.1.route 2.route")
def test_a_route_leads_to_the_service(tmp_path: Path) -> None:
    objects = render(VALUES["route"], tmp_path)
    route = objects["Route", "determined-master-route-r1"]["spec"]
    assert (route["host"], route["tls"]) == ("det.example.org", {"termination": "edge"})
    assert route["to"]["name"] == SERVICE[1]
    assert objects[SERVICE]["spec"]["type"] == "ClusterIP"


@covers(f"{R} 1.1.authorities")
def test_other_authorities_are_added_before_the_master_starts(tmp_path: Path) -> None:
    pod = pod_of(render(VALUES["placed"], tmp_path)[MASTER])
    [init] = pod["initContainers"]
    assert "authorities" in {mount["name"] for mount in init["volumeMounts"]}
    env = {one["name"]: one.get("value") for one in pod["containers"][0]["env"]}
    assert env["SSL_CERT_FILE"] == "/mount/determined/trusted/bundle.crt"


@covers(f"{R} 1.1.shared_objects 2.priorities")
@pytest.mark.parametrize("is_first", [True, False])
def test_a_second_release_makes_no_object_of_the_whole_cluster(
    is_first: bool, tmp_path: Path
) -> None:
    objects = with_values(tmp_path, createNonNamespacedObjects=is_first)
    found = {
        name: (one["value"], one["preemptionPolicy"], one["globalDefault"])
        for (kind, name), one in objects.items()
        if kind == "PriorityClass"
    }
    both = {
        "determined-system-priority": (1000000, "Never", False),
        "determined-medium-priority": (50, "Never", False),
    }
    assert found == (both if is_first else {})


@covers(f"{R} 1.1.requests 1.1.limits 1.3.resources")
def test_master_and_database_request_what_they_did(tmp_path: Path) -> None:
    usual = {"requests": {"cpu": "2", "memory": "8Gi"}}
    objects = with_values(tmp_path)
    assert container_of(objects[MASTER])["resources"] == usual
    assert container_of(objects[DB])["resources"] == usual
    asked = {"cpuRequest": 1, "memRequest": "1Gi", "cpuLimit": 3, "memLimit": "3Gi"}
    objects = with_values(
        tmp_path,
        masterCpuRequest=0.5,
        masterMemRequest="2Gi",
        masterCpuLimit=4,
        masterMemLimit="4Gi",
        db=asked,
    )
    assert container_of(objects[MASTER])["resources"] == {
        "requests": {"cpu": "0.5", "memory": "2Gi"},
        "limits": {"cpu": "4", "memory": "4Gi"},
    }
    assert container_of(objects[DB])["resources"] == {
        "requests": {"cpu": "1", "memory": "1Gi"},
        "limits": {"cpu": "3", "memory": "3Gi"},
    }


@covers(f"{R} 1.2.old_password 1.2.default_task 1.2.authz 1.2.token")
def test_accounts_and_tokens_are_settings_of_the_master(tmp_path: Path) -> None:
    account = {"user": "lab", "uid": 1001, "group": "lab", "gid": 1002}
    settings = settings_with(
        tmp_path,
        defaultPassword="Password1",
        security={
            "defaultTask": account,
            "authz": {"type": "rbac"},
            "token": {"defaultLifespanDays": 3, "maxLifespanDays": 9},
        },
    )
    security = settings.security
    assert security.initial_user_password == "Password1"
    task = security.default_task
    assert (task.user, task.uid, task.group, task.gid) == ("lab", 1001, "lab", 1002)
    assert security.authz.type == "rbac"
    token = security.token
    assert (token.default_lifespan_days, token.max_lifespan_days) == (3, 9)


@covers(f"{R} 1.3.external 1.3.names 1.3.tls")
@pytest.mark.parametrize(("kind", "source"), [("configmap", "configMap"), ("secret", "secret")])
def test_a_database_of_ones_own_is_reached_with_its_certificate(
    kind: str, source: str, tmp_path: Path
) -> None:
    values = VALUES["own_database"]
    objects = render({**values, "db": {**values["db"], "resourceType": kind}}, tmp_path)
    assert DB not in objects
    db = settings_of(objects, tmp_path).db
    assert (db.host, db.port, db.name, db.user) == ("db.example.org", 6432, "determined", "det")
    assert db.password == "Secret12"
    assert db.ssl_mode == "verify-full"
    assert db.ssl_root_cert == "/mount/determined/secrets/db/ca.pem"
    [volume] = [v for v in pod_of(objects[MASTER])["volumes"] if v["name"] == "db-certificate"]
    assert list(volume[source].values()) == ["db-ca"]


@covers(f"{R} 1.3.storage 1.3.node_port 2.database")
def test_the_database_has_its_volume_and_service(tmp_path: Path) -> None:
    objects = with_values(tmp_path, db={"storageClassName": "fast", "useNodePortForDB": True})
    claim = objects["PersistentVolumeClaim", "determined-db-pvc-r1"]["spec"]
    assert claim["accessModes"] == ["ReadWriteOnce"]
    assert claim["resources"]["requests"]["storage"] == "30Gi"
    assert claim["storageClassName"] == "fast"
    service = objects["Service", "determined-db-service-r1"]["spec"]
    assert (service["type"], service["ports"][0]["port"]) == ("NodePort", 5432)
    pod = objects[DB]["spec"]["template"]
    assert pod["metadata"]["labels"]["determined-system"] == "db"
    arguments = container_of(objects[DB])["args"]
    assert arguments == ["-c", "max_connections=96", "-c", "shared_buffers=512MB"]
    usual = with_values(tmp_path)["Service", "determined-db-service-r1"]
    assert usual["spec"]["type"] == "ClusterIP"


@covers(f"{R} 1.3.claim 1.3.ephemeral")
@pytest.mark.parametrize(
    ("db", "source"),
    [
        (
            {"claimSuffix": "old"},
            {"persistentVolumeClaim": {"claimName": "determined-db-pvc-old"}},
        ),
        ({"disablePVC": True}, {"emptyDir": {}}),
    ],
)
def test_no_claim_is_made_for_an_existing_or_no_volume(
    db: dict[str, Any], source: dict[str, Any], tmp_path: Path
) -> None:
    objects = with_values(tmp_path, db=db)
    assert not [kind for kind, _ in objects if kind == "PersistentVolumeClaim"]
    [volume] = [v for v in pod_of(objects[DB])["volumes"] if v["name"] == "data"]
    assert volume == {"name": "data", **source}


@covers(f"{R} 2.snapshots")
def test_a_snapshot_is_kept_in_the_namespace_of_the_release(tmp_path: Path) -> None:
    objects = with_values(tmp_path, "--is-upgrade", db={"snapshotSuffix": "s"})
    made = objects["VolumeSnapshot", "determined-db-snapshot-s"]
    assert "namespace" not in made["metadata"]
    kind = objects["VolumeSnapshotClass", made["spec"]["volumeSnapshotClassName"]]
    assert kind["metadata"]["name"] == "determined-db-snapshot-class"
    assert (kind["driver"], kind["deletionPolicy"]) == ("pd.csi.storage.gke.io", "Retain")


STORAGES = {
    "shared_fs": ({}, {"type": "shared_fs", "host_path": "/tmp/checkpoints"}),
    "directory": (VALUES["directory"], {"container_path": "/checkpoints"}),
    "gcs": (
        {"checkpointStorage": {"type": "gcs", "bucket": "b", "prefix": "p"}},
        {"type": "gcs", "bucket": "b", "prefix": "p"},
    ),
    "s3": (
        VALUES["s3"],
        {
            **{"type": "s3", "bucket": "b", "prefix": "p", "access_key": "AK"},
            **{"secret_key": "SK", "endpoint_url": "https://s3.example.org"},
        },
    ),
    "azure": (VALUES["azure"], {"container": "c", "connection_string": "x"}),
    "azure by an account": (
        {
            "checkpointStorage": {
                **{"type": "azure", "container": "c"},
                **{"account_url": "https://a.example.org", "credential": "key"},
            }
        },
        {"container": "c", "account_url": "https://a.example.org", "credential": "key"},
    ),
}


@covers(f"{R} 1.4.shared_fs 1.4.directory 1.4.buckets 1.4.azure")
@pytest.mark.parametrize("name", STORAGES)
def test_every_type_of_storage_keeps_its_keys(name: str, tmp_path: Path) -> None:
    values, wanted = STORAGES[name]
    storage = settings_with(tmp_path, **values).checkpoint_storage
    assert storage is not None
    assert wanted.items() <= storage.items()
    kept = {f"save_{what}": storage[f"save_{what}"] for what in ("trial_best", "trial_latest")}
    assert kept == {"save_trial_best": 1, "save_trial_latest": 1}
    assert storage["save_experiment_best"] == 0


@covers(f"{R} 1.4.mounted")
def test_a_shared_directory_is_mounted_into_the_master_on_request(tmp_path: Path) -> None:
    pod = pod_of(render(VALUES["mounted"], tmp_path)[MASTER])
    [mount] = [m for m in pod["containers"][0]["volumeMounts"] if m["name"] == "checkpoints"]
    [volume] = [v for v in pod["volumes"] if v["name"] == "checkpoints"]
    assert mount["mountPath"] == volume["hostPath"]["path"] == "/nfs"
    names = {v["name"] for v in pod_of(with_values(tmp_path)[MASTER])["volumes"]}
    assert "checkpoints" not in names


@covers(f"{R} 1.4.slot_type 1.4.cpu_slots")
@pytest.mark.parametrize(
    ("given", "slot_type"), [(None, "cuda"), ("cuda", "cuda"), ("rocm", "rocm"), ("cpu", "cpu")]
)
def test_slots_are_gpus_unless_something_else_is_named(
    given: str | None, slot_type: str, tmp_path: Path
) -> None:
    values: dict[str, Any] = {} if given is None else {"slotType": given}
    if given == "cpu":
        values["slotResourceRequests"] = {"cpu": 0.5}
    manager = manager_with(tmp_path, **values)
    assert manager.slot_type == slot_type
    assert manager.slot_resource_requests.cpu == (0.5 if given == "cpu" else None)


@covers(f"{R} 1.4.telemetry 1.4.fluent 1.4.scheduler 2.coscheduler")
def test_values_without_effect_change_no_object(tmp_path: Path) -> None:
    usual = with_values(tmp_path, initialUserPassword="Password1", db={"password": "x"})
    older = with_values(
        tmp_path,
        initialUserPassword="Password1",
        db={"password": "x"},
        telemetry={"enabled": True},
        fluent={"image": "fluent:1"},
    )
    assert older == usual
    manager = manager_with(tmp_path, defaultScheduler="coscheduler")
    assert manager.default_scheduler == "coscheduler"
    assert with_values(tmp_path, defaultScheduler="coscheduler").keys() == usual.keys()


@covers(f"{R} 1.4.pools 1.4.default_pools")
def test_pools_are_taken_as_they_are(tmp_path: Path) -> None:
    settings = settings_with(tmp_path)
    assert [pool.pool_name for pool in settings.resource_pools] == ["default"]
    manager = settings.resource_manager
    assert manager.default_aux_resource_pool == manager.default_compute_resource_pool == "default"
    pools = [{"pool_name": "a"}, {"pool_name": "b", "description": "x"}]
    settings = settings_with(
        tmp_path,
        resourcePools=pools,
        defaultAuxResourcePool="a",
        defaultComputeResourcePool="b",
    )
    assert [(p.pool_name, p.description) for p in settings.resource_pools] == [
        ("a", ""),
        ("b", "x"),
    ]
    manager = settings.resource_manager
    assert (manager.default_aux_resource_pool, manager.default_compute_resource_pool) == ("a", "b")


@covers(f"{R} 1.4.master_address")
def test_the_address_of_the_master_for_tasks_has_defaults(tmp_path: Path) -> None:
    manager = manager_with(tmp_path, determinedMasterHost="det.example.org", masterPort=9000)
    assert (manager.determined_master_host, manager.determined_master_port) == (
        "det.example.org",
        9000,
    )
    assert manager.determined_master_scheme == ""
    text = refusal({"maxSlotsPerPod": 1, "determinedMasterScheme": "https"}, tmp_path)
    assert "need determinedMasterHost" in text


@covers(f"{R} 2.config 2.deployment")
def test_the_masters_pod_is_what_scripts_expect(tmp_path: Path) -> None:
    objects = with_values(tmp_path)
    deployment = objects[MASTER]["spec"]
    assert deployment["replicas"] == 1
    meta, pod = deployment["template"]["metadata"], deployment["template"]["spec"]
    assert meta["labels"] == {
        "app": "determined-master-r1",
        "determined-system": "master",
        "release-namespace": NAMESPACE,
    }
    assert pod["priorityClassName"] == "determined-system-priority"
    [container] = pod["containers"]
    assert container["imagePullPolicy"] == "Always"
    sources = {one["name"]: one.get("valueFrom") for one in container["env"]}
    assert sources["DET_RELEASE_NAMESPACE"] == {"fieldRef": {"fieldPath": "metadata.namespace"}}
    mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    [volume] = [v for v in pod["volumes"] if v["name"] == mounts["/etc/determined"]]
    assert volume["secret"]["secretName"] == "determined-master-config-r1"
    changed = with_values(tmp_path, clusterName="x")[MASTER]["spec"]["template"]["metadata"]
    before, after = (m["annotations"]["checksum/config"] for m in (meta, changed))
    assert before != after


@covers(f"{R} 2.secrets")
def test_kubeconfigs_are_mounted_below_the_number_of_their_manager(tmp_path: Path) -> None:
    pod = pod_of(render(VALUES["several_clusters"], tmp_path)[MASTER])
    mounts = {m["mountPath"]: m["name"] for m in pod["containers"][0]["volumeMounts"]}
    [volume] = [v for v in pod["volumes"] if v["name"] == mounts["/mount/determined/secrets/0"]]
    assert volume["secret"]["secretName"] == "far-cluster"


@covers(f"{R} 2.account")
def test_the_account_has_the_role_of_its_release(tmp_path: Path) -> None:
    objects = with_values(tmp_path)
    name = "determined-master-r1"
    assert ("ServiceAccount", name) in objects
    binding = objects["ClusterRoleBinding", name]
    assert binding["roleRef"]["name"] == name
    assert ("ClusterRole", name) in objects
    subject = {"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE}
    assert binding["subjects"] == [subject]
    assert pod_of(objects[MASTER])["serviceAccountName"] == name


NOTES = {
    "an address": ({}, "get service determined-master-service-r1", ""),
    "a node port": ({"useNodePortForMaster": True}, "the address of any node", ""),
    "no TLS Secret": ({"tlsSecret": "cert"}, "The Secret cert is not in the namespace ns1", ""),
    "a development version": (
        {"detVersion": "1.1.0-dev0", "imageRegistry": "registry.example/lab"},
        "1.1.0-dev0 is a development version",
        "",
    ),
    "the image of the release": ({}, "", "is published"),
    "the registry of another product": (
        {"imageRegistry": "determinedai"},
        "No release of this project is published under determinedai: remove imageRegistry",
        "",
    ),
    "an image of one's own": ({"imageRegistry": "registry.example/lab"}, "", "is published"),
    "a scheduler": (
        {"defaultScheduler": "coscheduler"},
        "Tasks ask for the scheduler named coscheduler: install it",
        "",
    ),
    "logs elsewhere": (
        {"logging": {"type": "elastic", "host": "h"}},
        "logging.type elastic has no effect: the master keeps task logs in its database",
        "",
    ),
    "another product": ({"genai": {"version": "1"}}, "genai has no effect", ""),
    "no scheduler": ({"detVersion": "1.2.3"}, "The master starts", "scheduler"),
}


PRINTED = """
apiVersion: v1
kind: ConfigMap
metadata: {name: notes}
data:
  notes: |
    {{- tpl (.Files.Get "notes") . | nindent 4 }}
"""


@covers(f"{R} 2.notes 2.development")
@pytest.mark.parametrize("name", NOTES)
def test_the_notes_name_the_address_and_what_is_missing(name: str, tmp_path: Path) -> None:
    values, wanted, unwanted = NOTES[name]
    chart = tmp_path / "chart"
    shutil.copytree(CHART, chart)
    (chart / "templates/NOTES.txt").rename(chart / "notes")  # Helm prints notes of installs only
    (chart / "templates/notes.yaml").write_text(PRINTED)
    done = helm(
        *("template", "r1", str(chart), "--namespace", NAMESPACE),
        *("--show-only", "templates/notes.yaml"),
        values={"maxSlotsPerPod": 1, **values},
        directory=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    [made] = [one for one in YAML(typ="safe").load_all(done.stdout) if one]
    notes = made["data"]["notes"]
    assert wanted in notes
    assert not unwanted or unwanted not in notes


@covers(f"{R} 1.4.task_defaults")
def test_defaults_of_tasks_have_the_charts_spelling_or_the_masters(tmp_path: Path) -> None:
    spelled = {
        **{"networkMode": "host", "dtrainNetworkInterface": "eth1", "forcePullImage": True},
        **{"checkpointGcPodSpec": {"spec": {"a": 1}}, "startupHook": "x"},
        **{"logPolicies": [{"name": "oom", "pattern": "p"}], "shm_size_bytes": 4096},
    }
    text = with_values(tmp_path, taskContainerDefaults=spelled)[
        "Secret", "determined-master-config-r1"
    ]["stringData"]["master.yaml"]
    assert YAML(typ="safe").load(text)["task_container_defaults"] == {
        **{"network_mode": "host", "dtrain_network_interface": "eth1"},
        **{"force_pull_image": True, "checkpoint_gc_pod_spec": {"spec": {"a": 1}}},
        **{"startup_hook": "x", "log_policies": [{"name": "oom", "pattern": "p"}]},
        **{"shm_size_bytes": 4096},
    }
