"""A cluster on GCP from nothing to nothing, by the commands."""

from __future__ import annotations

import base64
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from tests.backends.cloud.google_project import GoogleProject
from tests.cli.conftest import Det, Outcome
from tests.cli.deploy.gcp.conftest import PROJECT, shown

pytestmark = pytest.mark.slow

UP = (
    *("deploy", "--no-wait-for-master", "gcp", "up", "--cluster-id", "lab"),
    *("--project-id", PROJECT, "--yes"),
)
DOWN = ("deploy", "gcp", "down", "--cluster-id", "lab", "--project-id", PROJECT)
MASTER, DISK = "determined-lab-master", "zones/us-west1-b/disks/determined-lab-database"
EMAILS = [f"det-lab-{role}@{PROJECT}.iam.gserviceaccount.com" for role in ("master", "agent")]


def up(det: Det, *words: str) -> str:
    done = det(*UP, *words)
    assert done.status == 0, done.err
    return done.out


def script_of(gcp: GoogleProject) -> str:
    items = gcp.instances[MASTER]["metadata"]["items"]
    return str({one["key"]: one["value"] for one in items}["startup-script"])


def secret_of(gcp: GoogleProject) -> dict[str, str]:
    [versions] = gcp.secrets.versions.values()
    found: dict[str, str] = json.loads(base64.b64decode(str(versions[-1])))
    return found


def members_of(gcp: GoogleProject, resource: str, role: str) -> list[str]:
    bindings = gcp.accounts.policies.get(resource).get("bindings", ())
    found = [member for one in bindings if one["role"] == role for member in one["members"]]
    return [member.removeprefix("serviceAccount:") for member in found]


def started(gcp: GoogleProject) -> int:
    return sum(path.endswith("/start") for _, path, _ in gcp.calls)


def agent(gcp: GoogleProject, name: str, labels: dict[str, str]) -> None:
    zone = f"https://x/compute/v1/projects/{PROJECT}/zones/us-west1-a"
    gcp.instances[name] = {"name": name, "zone": zone, "status": "RUNNING", "labels": labels}


def test_up_makes_a_cluster_and_says_where_it_is(det: Det, gcp: GoogleProject) -> None:
    out = up(det, "--add-label", "team=vision")
    master = gcp.instances[MASTER]
    address = gcp.resources["regions/us-west1/addresses/determined-lab-master"]["address"]
    assert f"The master is at http://{address}:8080\n" in out
    assert "Everybody may reach the master's ports: restrict it with --inbound-cidr" in out
    labels = {"team": "vision", "determined-cluster-id": "lab"}
    [bucket], [secret] = gcp.storage.buckets.values(), gcp.secrets.found.values()
    for labelled in (master, gcp.resources[DISK], bucket, secret):
        assert labelled["labels"] == labels
    assert [disk.get("autoDelete") for disk in master["disks"]] == [True, False]
    assert bucket["iamConfiguration"]["publicAccessPrevention"] == "enforced"


@pytest.mark.parametrize(
    ("name", "disk"),
    [
        ("c4-standard-8", "hyperdisk-balanced"),
        ("e2-standard-2", "pd-balanced"),
        ("c4a-standard-4", "hyperdisk-balanced"),
        ("t2a-standard-4", "pd-balanced"),
    ],
)
def test_the_master_boots_from_a_disk_and_an_image_that_its_machine_takes(
    det: Det, gcp: GoogleProject, name: str, disk: str
) -> None:
    """The emulator refuses others, as GCP does."""
    up(det, "--master-instance-type", name)
    boot, _ = gcp.instances[MASTER]["disks"]
    kinds = [boot["initializeParams"]["diskType"], gcp.resources[DISK]["type"]]
    assert [kind.rpartition("/")[2] for kind in kinds] == [disk, disk]


def test_rights_are_those_that_master_and_agents_need(det: Det, gcp: GoogleProject) -> None:
    other = {"role": "roles/viewer", "members": ["user:ann@lab.example"], "condition": {}}
    gcp.accounts.policies.of[f"projects/{PROJECT}"] = {"etag": "AAA=", "bindings": [other]}
    up(det)
    master, agents = EMAILS
    [bucket] = gcp.storage.buckets
    [secret] = gcp.secrets.found
    project = f"projects/{PROJECT}"
    assert members_of(gcp, project, "roles/compute.instanceAdmin.v1") == [master]
    assert members_of(gcp, agents, "roles/iam.serviceAccountUser") == [master]
    assert members_of(gcp, bucket, "roles/storage.objectAdmin") == [master, agents]
    assert members_of(gcp, secret, "roles/secretmanager.secretAccessor") == [master]
    assert other in gcp.accounts.policies.get(project)["bindings"]
    assert det(*DOWN, "--yes").status == 0
    assert gcp.accounts.policies.get(project)["bindings"] == [other]
    assert gcp.accounts.policies.get(bucket)["bindings"] == []


def test_logs_and_metrics_are_sent_only_if_that_is_asked_for(det: Det, gcp: GoogleProject) -> None:
    project = f"projects/{PROJECT}"
    roles = ("roles/logging.logWriter", "roles/monitoring.metricWriter")
    up(det)
    assert [members_of(gcp, project, role) for role in roles] == [[], []]
    assert "determined_agent.journal" not in script_of(gcp)
    assert "use_cloud_logging: false" in script_of(gcp)
    up(det, "--cloud-logging")
    assert [members_of(gcp, project, role) for role in roles] == [EMAILS, EMAILS]
    assert "$place/bin/python -m determined_agent.journal google\n" in script_of(gcp)
    assert "use_cloud_logging: true" in script_of(gcp)
    up(det)
    assert [members_of(gcp, project, role) for role in roles] == [[], []]
    assert members_of(gcp, project, "roles/compute.instanceAdmin.v1") == EMAILS[:1]
    up(det, "--cloud-logging")
    assert det(*DOWN, "--yes").status == 0
    assert gcp.accounts.policies.get(project)["bindings"] == []


def test_tasks_use_the_bucket_but_not_what_the_master_installs(
    det: Det, gcp: GoogleProject
) -> None:
    up(det)
    master, agents = EMAILS
    [(bucket, wheel)] = gcp.storage.objects
    assert gcp.storage.may_use(master, bucket, wheel)
    assert gcp.storage.may_use(agents, bucket, "a-checkpoint/weights")
    assert gcp.storage.may_use(agents, bucket, "deployed/weights")
    assert not gcp.storage.may_use(agents, bucket, wheel)
    # Its objects are listed by a right on the bucket itself.
    policies = gcp.accounts.policies
    itself = f"projects/_/buckets/{bucket}"
    assert policies.gives(bucket, "roles/storage.objectAdmin", agents, itself)


def test_the_next_up_takes_the_wheel_from_tasks_of_an_older_cluster(
    det: Det, gcp: GoogleProject
) -> None:
    up(det)
    [(bucket, wheel)] = gcp.storage.objects
    policy = gcp.accounts.policies.get(bucket)
    everything = [f"serviceAccount:{email}" for email in EMAILS]
    others = {"role": "roles/storage.objectAdmin", "members": ["user:ann@lab.example"]}
    policy["bindings"] = [
        {**others, "members": [*others["members"], *everything]},
        {"role": "roles/storage.objectViewer", "members": everything},
    ]
    assert gcp.storage.may_use(EMAILS[1], bucket, wheel)
    up(det)
    assert not gcp.storage.may_use(EMAILS[1], bucket, wheel)
    assert gcp.storage.may_use(EMAILS[1], bucket, "a-checkpoint/weights")
    assert gcp.storage.may_use(EMAILS[0], bucket, wheel)
    assert det(*DOWN, "--yes").status == 0
    left = gcp.accounts.policies.get(bucket)
    assert (left["bindings"], left["version"]) == ([others], 3)
    up(det)
    assert not gcp.storage.may_use(EMAILS[1], bucket, wheel)


def test_the_wheel_lies_where_the_machine_looks_for_it(det: Det, gcp: GoogleProject) -> None:
    up(det)
    [((bucket, key), content)] = gcp.storage.objects.items()
    assert f"'{PROJECT}' '{bucket}' '{key.removeprefix('deploy/')}'" in script_of(gcp)
    names = zipfile.ZipFile(io.BytesIO(content)).namelist()
    for package in ("determined", "determined_wire", "determined_agent", "determined_master"):
        assert f"{package}/__init__.py" in names


def test_passwords_are_random_kept_and_stored_in_the_secret_alone(
    det: Det, gcp: GoogleProject
) -> None:
    password = up(det).partition("have the password ")[2].strip()
    assert len(password) >= 16
    assert secret_of(gcp)["initial_user"] == password
    for whole in (gcp.instances, gcp.resources, gcp.storage.buckets):
        assert password not in shown(whole)
    again = up(det, "--max-dynamic-agents", "7")
    assert "password" not in again
    assert secret_of(gcp)["initial_user"] == password
    [versions] = gcp.secrets.versions.values()
    assert len(versions) == 1
    up(det, "--initial-user-password", "Given-secret")
    assert (versions[0], len(versions)) == (None, 2)
    assert "Given-secret" not in shown(gcp.instances)


def test_up_again_changes_only_differences(det: Det, gcp: GoogleProject) -> None:
    up(det)
    gcp.instances[MASTER]["metadata"]["items"].append({"key": "ssh-keys", "value": "ops:ssh-rsa"})
    before = [path for method, path, _ in gcp.calls if method != "GET"]
    out = up(det)
    made = [path for method, path, _ in gcp.calls if method != "GET"][len(before) :]
    assert "is as it should be" in out
    made = [path for path in made if not path.endswith((":getIamPolicy", "Permissions"))]
    # Tasks may have written another wheel there.
    [bucket] = gcp.storage.buckets
    assert made == [f"/upload/storage/v1/b/{bucket}/o"]
    out = up(
        det,
        *("--inbound-cidr", "203.0.113.0/24", "--master-instance-type", "e2-standard-2"),
        *("--db-size", "30", "--max-dynamic-agents", "9", "--add-label", "team=vision"),
    )
    assert "Changing the cluster lab" in out
    master = gcp.instances[MASTER]
    assert (master["status"], started(gcp)) == ("RUNNING", 1)
    assert master["machineType"].endswith("/e2-standard-2")
    assert master["minCpuPlatform"] == "AUTOMATIC"
    assert master["labels"]["team"] == "vision"
    assert "ssh-keys" in shown(master["metadata"])
    assert "max_instances: 9" in script_of(gcp)
    assert gcp.resources[DISK]["sizeGb"] == "30"
    rule = gcp.resources["global/firewalls/determined-lab-to-master"]
    assert rule["sourceRanges"] == ["203.0.113.0/24"]


def test_a_larger_disk_is_seen_by_the_machine_at_its_next_start(
    det: Det, gcp: GoogleProject
) -> None:
    up(det)
    up(det, "--db-size", "40")
    assert (gcp.resources[DISK]["sizeGb"], started(gcp)) == ("40", 1)
    assert 'resize2fs "$disk"' in script_of(gcp)


def test_a_change_is_asked_for(det: Det, gcp: GoogleProject) -> None:
    up(det)
    words = [word for word in UP if word != "--yes"]
    refused = det(*words, "--db-size", "30", stdin="n\n")
    assert refused.status == 1
    assert "Change the cluster lab? Its master restarts." in refused.out
    assert gcp.resources[DISK]["sizeGb"] == "20"
    assert det(*words, "--no-prompt", "--db-size", "30").status == 0


def broken_off(det: Det, gcp: GoogleProject, words: tuple[str, ...]) -> tuple[Outcome, int]:
    """Repeat a command that ends after each second change until it comes through; the number."""
    for number in range(40):
        gcp.changes_until_end = 2
        done = det(*words)
        if done.status == 0:
            gcp.changes_until_end = None
            return done, number
        assert "503" in done.err
    raise AssertionError(f"{words} never ends: {done.err}")


def test_up_and_down_continue_after_an_end_at_any_step(det: Det, gcp: GoogleProject) -> None:
    up(det)
    whole = {*gcp.resources}, {*gcp.instances}, {*gcp.accounts.found}, {*gcp.secrets.found}
    assert det(*DOWN, "--yes").status == 0
    gcp.resources.clear()
    _, number = broken_off(det, gcp, UP)
    assert number >= 6
    assert det("deploy", "gcp", "list").out.count("RUNNING") == 1
    again = {*gcp.resources}, {*gcp.instances}, {*gcp.accounts.found}, {*gcp.secrets.found}
    assert again == whole
    assert members_of(gcp, EMAILS[1], "roles/iam.serviceAccountUser") == EMAILS[:1]
    done, number = broken_off(det, gcp, (*DOWN, "--yes"))
    assert number >= 5
    assert "The cluster lab is gone." in done.out
    assert all("/snapshots/" in path for path in gcp.resources)
    assert (gcp.instances, gcp.accounts.found, gcp.secrets.found) == ({}, {}, {})


def test_down_ends_agents_and_says_what_stays(det: Det, gcp: GoogleProject) -> None:
    up(det)
    for name in ("one", "two"):
        agent(gcp, name, {"managed-by": "determined-lab", "determined-cluster-id": "lab"})
    agent(gcp, "other", {"managed-by": "somebody"})
    refused = det(*DOWN, stdin="n\n")
    assert (refused.status, len(gcp.instances)) == (1, 4)
    done = det(*DOWN, "--yes")
    assert done.status == 0, done.err
    assert "ending 2 machines of agents" in done.out
    assert [*gcp.instances] == ["other"]
    [bucket] = gcp.storage.buckets
    assert f"gcloud storage rm --recursive gs://{bucket}" in done.out
    [snapshot] = gcp.resources
    assert f"gcloud compute snapshots delete {snapshot.rpartition('/')[2]}" in done.out
    order = [path.rpartition("/")[2] for method, path, _ in gcp.calls if method != "GET"]
    assert order.index("stop") < order.index("one") < order.index("createSnapshot")
    assert "has no such cluster" in det(*DOWN, "--yes").err


def test_down_removes_nothing_while_machines_of_a_zone_are_not_listed(
    det: Det, gcp: GoogleProject
) -> None:
    up(det)
    resources = dict(gcp.resources)
    gcp.unreachable = ["zones/europe-west1-d"]
    refused = det(*DOWN, "--yes")
    assert "GCP does not know the instances of zones/europe-west1-d at present" in refused.err
    assert gcp.resources == resources


def test_a_cluster_starts_from_the_snapshot_of_an_earlier_one(
    det: Det, gcp: GoogleProject
) -> None:
    up(det)
    assert det(*DOWN, "--no-prompt").status == 0
    [snapshot] = gcp.resources
    name = snapshot.rpartition("/")[2]
    out = up(det, "--db-snapshot", name)
    assert gcp.resources[DISK]["sourceSnapshot"] == f"projects/{PROJECT}/{snapshot}"
    assert "have the password" not in out
    gcp.resources[snapshot]["diskSizeGb"] = "50"
    assert "needs 50 GB: give --db-size 50" in det(*UP, "--db-snapshot", name).err


def test_a_network_is_used_if_it_exists_and_left_to_its_users(
    det: Det, gcp: GoogleProject
) -> None:
    below = f"https://x/compute/v1/projects/{PROJECT}/regions/us-west1/subnetworks/west"
    gcp.resources["global/networks/shared"] = {"name": "shared", "subnetworks": [below]}
    gcp.resources["regions/us-west1/subnetworks/west"] = {"name": "west"}
    up(det, "--network", "shared")
    [interface] = gcp.instances[MASTER]["networkInterfaces"]
    assert interface["subnetwork"] == f"projects/{PROJECT}/regions/us-west1/subnetworks/west"
    assert f'"subnetwork": "{interface["subnetwork"]}"' in script_of(gcp)
    refused = det(*UP)
    assert "is in the network shared; give --network shared" in refused.err
    assert det(*DOWN, "--yes").status == 0
    assert "global/networks/shared" in gcp.resources


def test_a_shared_network_is_left_to_the_administrators_of_its_project(
    det: Det, gcp: GoogleProject
) -> None:
    below = "https://x/compute/v1/projects/net-host/regions/us-west1/subnetworks/west"
    gcp.resources["global/networks/shared"] = {"name": "shared", "subnetworks": [below]}
    gcp.resources["regions/us-west1/subnetworks/west"] = {"name": "west"}
    path = "projects/net-host/global/networks/shared"
    out = up(det, "--network", path)
    [interface] = gcp.instances[MASTER]["networkInterfaces"]
    assert interface["network"] == path
    assert interface["subnetwork"] == "projects/net-host/regions/us-west1/subnetworks/west"
    assert f'"network": "{path}"' in script_of(gcp)
    assert [one for one in gcp.resources if "firewalls" in one] == []
    role, *rules = [line.strip() for line in out.splitlines() if "gcloud" in line]
    master = "serviceAccount:det-lab-master@lab-1.iam.gserviceaccount.com"
    assert role == (
        f"gcloud projects add-iam-policy-binding net-host --member {master} "
        "--role roles/compute.networkUser"
    )
    assert len(rules) == 4
    assert rules[-1] == (
        "gcloud compute firewall-rules create determined-lab-in-cluster --project net-host "
        "--network shared --direction INGRESS --allow tcp:0-65535 --target-tags "
        "determined-lab-agent --source-tags determined-lab-master,determined-lab-agent"
    )
    up(det, "--network", path)  # the same cluster
    refused = det(*UP, "--network", "shared")
    assert f"network {path}, and cannot be moved; give --network {path}" in refused.err
    removed = det(*DOWN, "--yes").out
    assert "rules and a role in the project net-host" in removed
    assert "determined-lab-in-cluster --project net-host;" in removed


def test_a_network_of_the_cluster_that_others_use_stays(det: Det, gcp: GoogleProject) -> None:
    up(det)
    network = f"projects/{PROJECT}/global/networks/determined-lab"
    gcp.resources["global/firewalls/other"] = {"name": "other", "network": network}
    done = det(*DOWN, "--yes")
    assert done.status == 0, done.err
    assert "the network determined-lab, since others use it: gcloud compute networks" in done.out
    assert gcp.secrets.found == {}


def test_clusters_are_listed_for_people_and_programs(det: Det, gcp: GoogleProject) -> None:
    up(det)
    agent(gcp, "one", {"determined-cluster-id": "lab"})
    zone = "https://x/compute/v1/projects/lab-1/zones/us-west1-a"
    gcp.resources["zones/us-west1-a/disks/determined-half-database"] = {
        **{"name": "determined-half-database", "zone": zone},
        "labels": {"determined-cluster-id": "half"},
    }
    found: Any = json.loads(det("deploy", "gcp", "list", "--json").out)
    assert [(one["clusterId"], one["status"], one["zone"]) for one in found] == [
        ("half", "INCOMPLETE", "us-west1-a"),
        ("lab", "RUNNING", "us-west1-b"),
    ]
    assert found[1]["master"].startswith("http://203.0.113.")
    assert "clusterId: half" in det("deploy", "gcp", "ls", "--yaml").out
    assert "INCOMPLETE" in det("deploy", "gcp", "list").out


def test_tls_is_served_and_a_new_certificate_restarts_the_master(
    det: Det, gcp: GoogleProject, tmp_path: Path
) -> None:
    certificate, key = tmp_path / "c.pem", tmp_path / "k.pem"
    certificate.write_text("first")
    key.write_text("KEY-TEXT")
    tls = ("--master-tls-cert", str(certificate), "--master-tls-key", str(key))
    assert "The master is at https://" in up(det, *tls)
    assert secret_of(gcp)["tls_key"] == "KEY-TEXT"
    assert "KEY-TEXT" not in shown(gcp.instances)
    certificate.write_text("second")
    up(det, *tls)
    assert started(gcp) == 1


def test_an_operation_that_fails_is_reported_with_the_reason(det: Det, gcp: GoogleProject) -> None:
    gcp.problems = [{"code": "QUOTA_EXCEEDED", "message": "Quota 'NETWORKS' exceeded."}]
    done = det(*UP)
    assert done.status == 1
    assert "could not do POST global/networks: QUOTA_EXCEEDED: Quota 'NETWORKS'" in done.err
