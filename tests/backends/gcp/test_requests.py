"""What is asked of GCP for a machine (scheduling-and-provisioning c.9)."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from tests.backends.cloud.gcp_place import IMAGE, GcpPlace, launched
from tests.backends.cloud.gcp_server import GcpServer
from tests.backends.cloud.metadata_server import ON_GCP, gcp_metadata
from tests.contracts.machine_provider_contract import token
from tests.covers import covers

from determined_master.domain.machines.types.gcp_machines import built_in_gpus
from determined_master.settings.providers.gcp import (
    GcpInstanceType,
    GcpMachineChoice,
    GcpNetworkInterface,
    GcpServiceAccount,
)

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("fast_gcp")]


@covers("scheduling-and-provisioning c.9.bulk c.9.disk c.9.type c.9.platform c.9.maintenance")
async def test_machines_are_asked_for_by_one_call(
    gcp_server: GcpServer, gcp_metadata_url: str
) -> None:
    body = await launched(gcp_server, gcp_metadata_url, 3)
    assert (body["count"], body["minCount"]) == ("3", "1")
    assert len(body["perInstanceProperties"]) == 3
    kind = body["instanceProperties"]
    assert kind["machineType"] == "n1-standard-32"
    gpus = {"acceleratorType": "nvidia-tesla-t4", "acceleratorCount": 4}
    assert kind["guestAccelerators"] == [gpus]
    assert kind["minCpuPlatform"] == "Intel Broadwell"
    assert kind["scheduling"] == {"onHostMaintenance": "TERMINATE", "preemptible": False}
    [disk] = kind["disks"]
    assert (disk["boot"], disk["autoDelete"]) == (True, True)
    assert disk["initializeParams"] == {
        "sourceImage": IMAGE,
        "diskSizeGb": "200",
        "diskType": "pd-standard",
        "labels": kind["labels"],
    }
    assert "serviceAccounts" not in kind


@covers("scheduling-and-provisioning c.9.labels c.9.label c.9.metadata c.9.prefix")
async def test_machines_are_labelled_and_custom_labels_take_no_place_of_ours(
    gcp_server: GcpServer, gcp_metadata_url: str
) -> None:
    mine = {"team": "vision", "managed-by": "somebody", "determined-resource-pool": "x"}
    base = {"labels": {"cost": "1"}, "metadata": {"items": [{"key": "a", "value": "b"}]}}
    body = await launched(gcp_server, gcp_metadata_url, labels=mine, base_config=base)
    labels = body["instanceProperties"]["labels"]
    uuid.UUID(labels.pop("determined-launch"))
    assert labels == {
        "cost": "1",
        "team": "vision",
        "managed-by": "det-master",
        "determined-resource-pool": "gpus",
        "determined-master-host": "det-example",
        "determined-master-port": "8080",
    }
    script, address, more = body["instanceProperties"]["metadata"]["items"]
    assert script["key"] == "startup-script"
    assert script["value"].startswith("#!/bin/bash\n")
    assert address == {"key": "determined-master-address", "value": "http://det.example:8080"}
    assert more == {"key": "a", "value": "b"}
    assert all(name.startswith("det-master-") for name in body["perInstanceProperties"])


@covers("scheduling-and-provisioning c.9.label c.9.prefix")
@pytest.mark.parametrize(
    ("name", "value"),
    [("", "determined-ai-determined"), ("a" * 29 + "-b", "a" * 29), ("x" * 40, "x" * 30)],
)
async def test_the_default_label_is_the_masters_name_cut(
    gcp_server: GcpServer, name: str, value: str
) -> None:
    with gcp_metadata({**ON_GCP, "instance/name": name}) as url:
        body = await launched(gcp_server, url)
    assert body["instanceProperties"]["labels"]["managed-by"] == value
    [machine] = body["perInstanceProperties"]
    assert machine.startswith(f"{value}-")


@covers("scheduling-and-provisioning c.9.base c.9.interface c.9.scope c.9.platform c.9.disk")
async def test_base_config_lies_under_what_is_set(
    gcp_server: GcpServer, gcp_metadata_url: str
) -> None:
    base = {
        "machineType": "overlaid",
        "disks": [{"deviceName": "mine"}],
        "networkInterfaces": [{"network": "mine"}],
        "scheduling": {"minNodeCpus": 3},
        "shieldedInstanceConfig": {"enableVtpm": True},
    }
    body = await launched(
        gcp_server,
        gcp_metadata_url,
        base_config=base,
        boot_disk_type="zones/us-west1-b/diskTypes/pd-extreme",
        boot_disk_size=300,
        boot_disk_iops=5000,
        network_tags=("web",),
        service_account=GcpServiceAccount(email="a@b"),
        instance_type=GcpInstanceType(
            machine_type="g2-standard-8", gpu_type="nvidia-l4", gpu_num=1, preemptible=True
        ),
    )
    kind = body["instanceProperties"]
    assert kind["machineType"] == "g2-standard-8"
    assert kind["minCpuPlatform"] == "Intel Cascade Lake"
    assert kind["shieldedInstanceConfig"] == {"enableVtpm": True}
    assert kind["scheduling"] == {
        "minNodeCpus": 3,
        "onHostMaintenance": "TERMINATE",
        "preemptible": True,
        "automaticRestart": False,
    }
    assert [disk.get("deviceName") for disk in kind["disks"]] == [None, "mine"]
    assert kind["disks"][0]["initializeParams"]["diskType"] == "pd-extreme"
    assert kind["disks"][0]["initializeParams"]["provisionedIops"] == "5000"
    assert kind["disks"][0]["initializeParams"]["diskSizeGb"] == "300"
    assert kind["networkInterfaces"] == [{"network": "mine"}]
    assert kind["tags"] == {"items": ["web"]}
    scopes = ["https://www.googleapis.com/auth/cloud-platform"]
    assert kind["serviceAccounts"] == [{"email": "a@b", "scopes": scopes}]


@covers("scheduling-and-provisioning c.9.disk")
@pytest.mark.parametrize(
    ("name", "disk"),
    [
        ("n1-standard-8", "pd-standard"),
        ("custom-8-16384", "pd-standard"),
        ("g2-standard-8", "pd-balanced"),
        ("a3-highgpu-8g", "pd-balanced"),
        ("a3-ultragpu-8g", "hyperdisk-balanced"),
        ("c3-standard-22", "pd-balanced"),
        ("c3-standard-192-metal", "hyperdisk-balanced"),
        ("n4-standard-8", "hyperdisk-balanced"),
        ("n4-custom-8-16384", "hyperdisk-balanced"),
        ("c4-standard-8", "hyperdisk-balanced"),
        ("c4a-standard-8", "hyperdisk-balanced"),
        ("c4d-standard-8", "hyperdisk-balanced"),
        ("a4-highgpu-8g", "hyperdisk-balanced"),
        ("g4-standard-48", "hyperdisk-balanced"),
    ],
)
async def test_machines_boot_from_a_disk_that_their_type_takes(
    gcp_server: GcpServer, gcp_metadata_url: str, name: str, disk: str
) -> None:
    """The emulator refuses other disks, as GCP does."""
    gpu_type, gpu_num = built_in_gpus(name) or ("", 0)
    kind = GcpInstanceType(machine_type=name, gpu_type=gpu_type, gpu_num=gpu_num)
    image = f"{IMAGE}-arm64" if name.startswith("c4a") else IMAGE
    body = await launched(
        gcp_server, gcp_metadata_url, instance_type=kind, boot_disk_source_image=image
    )
    [boot] = body["instanceProperties"]["disks"]
    assert boot["initializeParams"]["diskType"] == disk


async def test_each_type_of_a_pool_boots_from_its_own_disk(
    gcp_server: GcpServer, gcp_metadata_url: str
) -> None:
    gcp_server.exhausted = {("us-west1-b", "n2-standard-8"): "ZONE_RESOURCE_POOL_EXHAUSTED"}
    types = tuple(GcpMachineChoice(machine_type=f"{name}-standard-8") for name in ("n2", "n4"))
    place = GcpPlace(gcp_server, gcp_metadata_url, instance_types=types, cpu_slots_allowed=True)
    await place.provider.open()
    await place.provider.launch(1, token())
    await place.provider.close()
    disks = [body["instanceProperties"]["disks"][0] for body in gcp_server.bodies()]
    kinds = [disk["initializeParams"]["diskType"] for disk in disks]
    assert kinds == ["pd-standard", "hyperdisk-balanced"]


@covers("scheduling-and-provisioning c.9.interface")
@pytest.mark.parametrize(
    ("given", "interface"),
    [
        (GcpNetworkInterface(), {"network": "global/networks/default"}),
        (
            GcpNetworkInterface(external_ip=True),
            {
                "network": "global/networks/default",
                "accessConfigs": [{"name": "External NAT", "type": "ONE_TO_ONE_NAT"}],
            },
        ),
        (
            GcpNetworkInterface(network="n", subnetwork="s", external_ip=True),
            {
                "network": "n",
                "subnetwork": "s",
                "accessConfigs": [{"name": "External NAT", "type": "ONE_TO_ONE_NAT"}],
            },
        ),
    ],
)
async def test_the_network_is_that_of_the_settings_else_the_default_one(
    gcp_server: GcpServer, gcp_metadata_url: str, given: Any, interface: Any
) -> None:
    body = await launched(gcp_server, gcp_metadata_url, network_interface=given)
    assert body["instanceProperties"]["networkInterfaces"] == [interface]


@covers("scheduling-and-provisioning c.9.logging c.5.cpu")
async def test_a_machine_gets_its_slots_and_log_driver(
    gcp_server: GcpServer, gcp_metadata_url: str
) -> None:
    body = await launched(
        gcp_server,
        gcp_metadata_url,
        use_cloud_logging=True,
        cpu_slots_allowed=True,
        instance_type=GcpInstanceType(gpu_type="", gpu_num=0),
    )
    script = body["instanceProperties"]["metadata"]["items"][0]["value"]
    assert "--log-driver gcplogs" in script
    assert "-m determined_agent.journal" in script
    assert "--env DET_SLOT_TYPE=cpu" in script
    assert "--env DET_MACHINE_CLOUD=gcp" in script
    assert "--gpus" not in script
    assert "guestAccelerators" not in body["instanceProperties"]


@pytest.mark.parametrize("is_used", [True, False])
async def test_a_machine_without_an_image_of_the_agent_sends_its_journal(
    gcp_server: GcpServer, gcp_metadata_url: str, is_used: bool
) -> None:
    body = await launched(
        gcp_server, gcp_metadata_url, use_cloud_logging=is_used, agent_docker_image=""
    )
    script = body["instanceProperties"]["metadata"]["items"][0]["value"]
    assert ("determined_agent.journal" in script) is is_used
    assert ("printf ' %q' google" in script) is is_used


@covers("scheduling-and-provisioning c.9.host")
@pytest.mark.parametrize(
    ("alias", "host"),
    [("", "10.0.0.5"), ("internal-ip", "10.0.0.5"), ("external-ip", "203.0.113.5")],
)
async def test_the_masters_host_is_what_the_cloud_says(
    gcp_server: GcpServer, gcp_metadata_url: str, alias: str, host: str
) -> None:
    url = f"http://{alias}:9000" if alias else ""
    body = await launched(gcp_server, gcp_metadata_url, master_url=url)
    address = body["instanceProperties"]["metadata"]["items"][1]["value"]
    assert address == f"http://{host}:{9000 if alias else 8080}"


async def test_a_type_that_is_not_known_is_sent_with_the_slots_of_the_settings(
    gcp_server: GcpServer, gcp_metadata_url: str
) -> None:
    body = await launched(
        gcp_server,
        gcp_metadata_url,
        instance_type=GcpInstanceType(machine_type="a9-ultragpu-8g"),
        instance_slots=8,
    )
    kind = body["instanceProperties"]
    assert kind["machineType"] == "a9-ultragpu-8g"
    assert "guestAccelerators" not in kind
