"""The requests of `det deploy gcp up --dry-run`, and options that are refused before any call."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from ruamel.yaml import YAML
from tests.backends.cloud.discovery import Document
from tests.cli.conftest import Det

from determined_deploy.gcp.resources.master_config import TEMPLATE
from determined_master.settings.master import load
from determined_wire.google_rest import SERVICES

UP = ("deploy", "gcp", "up", "--cluster-id", "lab", "--project-id", "lab-1")
DOCUMENTS = {
    "compute": Document("compute_v1"),
    "storage": Document("storage_v1"),
    "iam": Document("iam_v1"),
    "secretmanager": Document("secretmanager_v1"),
}
MANY = (
    *("--add-label", "team=vision", "--preemptible", "true", "--max-dynamic-agents", "9"),
    *("--min-dynamic-agents", "1", "--inbound-cidr", "203.0.113.0/24", "--enable-cors"),
    *("--cpu-env-image", "cpu:1", "--gpu-env-image", "gpu:1", "--notebook-timeout", "600"),
    *("--scheduler-type", "priority", "--preemption-enabled", "true", "--db-size", "50"),
    *("--filestore-address", "10.0.0.2:/share", "--port", "8081", "--db-snapshot", "old"),
    *("--compute-agent-instance-type", "g2-standard-8", "--gpu-type", "nvidia-l4"),
    *("--gpu-num", "1", "--disk-type", "pd-ssd", "--network", "shared", "--region", "us-east1"),
    *("--environment-image", "mine", "--min-cpu-platform-master", "Intel Cascade Lake"),
)
GPU_OF_G2 = (
    *("--compute-agent-instance-type", "g2-standard-8", "--gpu-type", "nvidia-l4"),
    *("--gpu-num", "1"),
)
NO_GPUS = ("--gpu-num", "0", "--compute-agent-instance-type", "e2-standard-4")


def requests(det: Det, *words: str) -> list[dict[str, Any]]:
    done = det(*UP, "--dry-run", *words)
    assert done.status == 0, done.err
    found: list[dict[str, Any]] = json.loads(done.out)
    return found


def body_of(found: list[dict[str, Any]], end: str) -> dict[str, Any]:
    [body] = [one["body"] for one in found if one.get("request", "").endswith(end)]
    assert isinstance(body, dict)
    return body


def script_of(found: list[dict[str, Any]]) -> str:
    items = body_of(found, "/instances")["metadata"]["items"]
    return str({one["key"]: one["value"] for one in items}["startup-script"])


def settings_of(found: list[dict[str, Any]], directory: Path) -> Any:
    begin, end = "<<'END_OF_SETTINGS'\n", "\nEND_OF_SETTINGS"
    path = directory / "master.yaml"
    path.write_text(script_of(found).partition(begin)[2].partition(end)[0])
    return load(["--config-file", str(path)], {"HOME": "/root"}, is_root=True)


@pytest.mark.parametrize("words", [(), MANY, NO_GPUS])
def test_each_request_is_as_google_documents_it(det: Det, words: tuple[str, ...]) -> None:
    found = [one for one in requests(det, *words) if "request" in one]
    assert len(found) == 12
    for one in found:
        verb, _, url = one["request"].partition(" ")
        [service] = [name for name, base in SERVICES.items() if url.startswith(base + "/")]
        parts = urlsplit(url.removeprefix(SERVICES[service]))
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        document = DOCUMENTS[service]
        method = document.method_of(verb, parts.path)
        assert method.endswith((".insert", ".create"))
        assert list(document.request_faults(method, parts.path, query, one["body"])) == []


@pytest.mark.parametrize("words", [(), MANY, NO_GPUS])
def test_the_settings_are_those_of_a_master(
    det: Det, words: tuple[str, ...], tmp_path: Path
) -> None:
    settings = settings_of(requests(det, *words), tmp_path)
    aux, compute = settings.resource_pools
    assert (aux.pool_name, compute.pool_name) == ("aux-pool", "compute-pool")
    assert aux.provider.gpus == 0
    assert compute.provider.gpus == {(): 4, MANY: 1, NO_GPUS: 0}[words]
    assert compute.provider.label_value == "determined-lab"
    assert compute.provider.network_interface.external_ip
    assert compute.provider.service_account.email == "det-lab-agent@lab-1.iam.gserviceaccount.com"
    assert compute.provider.max_instances == (9 if words is MANY else 5)
    assert compute.provider.spot_use == ("only" if words is MANY else "never")
    assert ("10.0.0.2:/share" in compute.provider.startup_script) == (words is MANY)
    assert settings.checkpoint_storage["bucket"] == "lab-1-determined-lab"
    assert settings.checkpoint_storage["type"] == "gcs"


@pytest.mark.parametrize("words", [(), MANY])
def test_the_start_script_is_one_of_bash(det: Det, words: tuple[str, ...]) -> None:
    script = script_of(requests(det, *words))
    checked = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True)
    assert (checked.returncode, checked.stderr) == (0, "")
    fetch = script.partition("<<'END_OF_FETCH'\n")[2].partition("\nEND_OF_FETCH")[0]
    compile(fetch, "fetch.py", "exec")
    assert "mkfs" in script


@pytest.mark.parametrize(
    ("name", "agent", "master"),
    [
        ("e2-standard-4", "pd-standard", "pd-balanced"),
        ("c3-standard-4", "pd-balanced", "pd-balanced"),
        ("n4-standard-4", "hyperdisk-balanced", "hyperdisk-balanced"),
        ("c4d-standard-8", "hyperdisk-balanced", "hyperdisk-balanced"),
    ],
)
def test_disks_follow_the_machine_type(
    det: Det, name: str, agent: str, master: str, tmp_path: Path
) -> None:
    types = [f"--{role}-instance-type" for role in ("master", "compute-agent", "aux-agent")]
    words = [word for option in types for word in (option, name)]
    found = requests(det, "--gpu-num", "0", *words)
    disks = [
        body_of(found, "/instances")["disks"][0]["initializeParams"]["diskType"],
        body_of(found, "/zones/us-west1-b/disks")["type"],
    ]
    assert {disk.rpartition("/")[2] for disk in disks} == {master}
    for pool in settings_of(found, tmp_path).resource_pools:
        assert pool.provider.boot_disk_of(name) == agent


@pytest.mark.parametrize(
    ("option", "place"), [("aux", 0), ("compute", 1), ("master", None)], ids=lambda v: str(v)
)
def test_machines_with_arm_processors_boot_images_for_them(
    det: Det, option: str, place: int | None, tmp_path: Path
) -> None:
    agent = "" if option == "master" else "agent-"
    words = ("--gpu-num", "0", "--compute-agent-instance-type", "e2-standard-4")
    found = requests(det, *words, f"--{option}-{agent}instance-type", "c4a-standard-4")
    images = [one.provider for one in settings_of(found, tmp_path).resource_pools]
    root = body_of(found, "/instances")["disks"][0]["initializeParams"]["sourceImage"]
    named = [*(one.boot_disk_source_image for one in images), root]
    is_arm = ["arm64" in name for name in named]
    assert is_arm == [index == (2 if place is None else place) for index in range(3)]


@pytest.mark.parametrize(
    "option",
    [
        *("--local-state-path", "--tf-state-gcs-bucket-name", "--db-password", "--det-version"),
        "--min-cpu-platform-agent",
    ],
)
def test_an_option_without_effect_is_named_beside_the_requests(det: Det, option: str) -> None:
    done = det(*UP, "--dry-run", option, "x")
    assert json.loads(done.out)
    assert done.err == f"{option} has no effect in this version\n"


def test_secrets_are_in_no_request(det: Det, tmp_path: Path) -> None:
    key = tmp_path / "k.pem"
    key.write_text("KEY-TEXT")
    tls = ("--master-tls-cert", str(key), "--master-tls-key", str(key))
    text = json.dumps(requests(det, *tls, "--initial-user-password", "User-secret"))
    assert "KEY-TEXT" not in text
    assert "User-secret" not in text


def test_only_the_named_networks_reach_the_machines(det: Det) -> None:
    found = requests(det, "--inbound-cidr", "203.0.113.0/24")
    rules = [one["body"] for one in found if one.get("request", "").endswith("/firewalls")]
    outside = [rule for rule in rules if "sourceRanges" in rule]
    assert {source for rule in outside for source in rule["sourceRanges"]} == {"203.0.113.0/24"}
    assert {port for rule in outside for port in rule["allowed"][0]["ports"]} == {
        "8080",
        "9080",
        "22",
    }
    assert all("sourceTags" in rule for rule in rules if rule not in outside)


def test_the_template_of_the_configuration_can_be_changed(det: Det, tmp_path: Path) -> None:
    printed = det("deploy", "gcp", "dump-master-config-template").out
    assert printed == TEMPLATE
    path = tmp_path / "master.yaml"
    path.write_text(printed + "webhooks:\n  base_url: ${!literal}\n")
    script = script_of(requests(det, "--master-config-template-path", str(path)))
    text = script.partition("<<'END_OF_SETTINGS'\n")[2].partition("\nEND_OF_SETTINGS")[0]
    assert YAML(typ="safe").load(text)["webhooks"] == {"base_url": "${literal}"}
    path.write_text("port: ${prot}\n")
    refused = det(*UP, "--dry-run", "--master-config-template-path", str(path))
    assert refused.status == 1
    assert "unknown variable ${prot}; known are" in refused.err
    path.write_text("x" * 300_000)
    refused = det(*UP, "--dry-run", "--master-config-template-path", str(path))
    assert "and GCP takes 256000" in refused.err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--cluster-id", "1_lab"), "--cluster-id '1_lab' must have at most 30 lower-case letter"),
        (("--cluster-id", "x" * 31), "must have at most 30"),
        (("--inbound-cidr", "10.0.0.300/8"), "is not an IPv4 network"),
        (("--add-label", "team"), "--add-label 'team' is not KEY=VALUE"),
        (("--add-label", "Team=Vision"), "--add-label Team=Vision: keys and values have at most"),
        (("--min-dynamic-agents", "6"), "6 is above --max-dynamic-agents 5"),
        (("--master-tls-cert", "c.pem"), "need each other"),
        (("--zone", "us-east1-b"), "is not in --region us-west1: give --region us-east1"),
        (("--region", "us/west"), "--region 'us/west' is not the name of a region"),
        (("--network", "a/b"), "--network 'a/b' is not a name of a network"),
        (("--filestore-address", "nowhere"), "is not ADDRESS:/SHARE, such as 10.0.0.2:/share"),
        (("--filestore-address", "a:/b", "--no-filestore"), "exclude each other"),
        (("--environment-image", "../x"), "--environment-image '../x' is not an image"),
        (
            ("--compute-agent-instance-type", "e2-standard-4"),
            "only machines of the family n1 take GPUs such as nvidia-tesla-t4; give --gpu-num 0",
        ),
        (("--max-idle-agent-period", "soon"), "'soon' is not a period such as 10m or 1h30m"),
        (("--operation-timeout-period", "0s"), "--operation-timeout-period '0s' is not a period"),
        (("--project-id", "x/../y"), "--project-id 'x/../y' is not the id of a project"),
        (("--disk-type", "../ssd"), "--disk-type '../ssd' is not a name of GCP's"),
        (
            (
                *("--compute-agent-instance-type", "a4x-highgpu-4g", "--gpu-num", "4"),
                *("--gpu-type", "nvidia-gb200"),
            ),
            "a4x-highgpu-4g has ARM processors, and Google has no image with NVIDIA's driver",
        ),
        (
            (*GPU_OF_G2, "--disk-type", "pd-standard"),
            "--disk-type pd-standard: GCP boots no g2-standard-8 from it; give pd-balanced, or",
        ),
        (
            (*NO_GPUS, "--aux-agent-instance-type", "n4-standard-4", "--disk-type", "pd-ssd"),
            "--disk-type pd-ssd: GCP boots no n4-standard-4 from it; give hyperdisk-balanced",
        ),
        (("--aux-agent-instance-type", 'a"b'), "is not a name of GCP's"),
        (("--db-snapshot", "../x"), "--db-snapshot '../x' is not a name of GCP's"),
        (("--port", "0"), "--port 0 is not between 1 and 65535"),
        (("--master-config-template-path", "/nowhere"), "No such file"),
    ],
)
def test_wrong_values_are_named_with_a_remedy(det: Det, words: tuple[str, ...], text: str) -> None:
    refused = det(*UP, "--dry-run", *words)
    assert refused.status == 1
    assert text in refused.err


def test_down_needs_the_name_of_a_cluster(det: Det) -> None:
    assert "give --cluster-id: det deploy gcp list" in det("deploy", "gcp", "down").err
