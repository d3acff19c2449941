"""The examples of the page on machines of GCP: a launch takes them as they stand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests import pages
from tests.backends.cloud.gcp_place import launched
from tests.backends.cloud.gcp_server import GcpServer
from tests.master_settings import read

from determined_master.settings.yaml_text import parse_yaml

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("fast_gcp")]

EXAMPLES = [parse_yaml(text).value for text in pages.examples("provisioning.md")]
[DISK] = [one for one in EXAMPLES if "base_config" in json.dumps(one)]
[NETWORK] = [one["network_interface"] for one in EXAMPLES if "network_interface" in one]


def provider(tmp_path: Path, whole: dict[str, Any]) -> Any:
    storage = {"type": "s3", "bucket": "checkpoints"}
    [pool] = whole["resource_pools"]
    pools = [{**pool, "pool_name": "default"}]
    settings = read(tmp_path, json.dumps({"resource_pools": pools, "checkpoint_storage": storage}))
    assert [line for line in settings.warnings if "resource_pools" in line] == []
    return settings.resource_pools[0].provider


async def test_a_disk_of_data_is_attached_to_each_machine_and_mounted(
    gcp_server: GcpServer, gcp_metadata_url: str, tmp_path: Path
) -> None:
    found = provider(tmp_path, DISK)
    options = {"base_config": found.base_config, "startup_script": found.startup_script}
    body = await launched(gcp_server, gcp_metadata_url, **options)
    kind = body["instanceProperties"]
    assert kind["disks"][0]["boot"]
    assert kind["disks"][1:] == [
        {
            "mode": "READ_ONLY",
            "boot": False,
            "source": "zones/us-west1-b/disks/datasets",
            "autoDelete": False,
            "deviceName": "datasets",
        }
    ]
    assert f"/dev/disk/by-id/google-{kind['disks'][1]['deviceName']}" in found.startup_script


async def test_machines_are_in_the_network_of_a_host_project(
    gcp_server: GcpServer, gcp_metadata_url: str, tmp_path: Path
) -> None:
    [pool] = DISK["resource_pools"]
    shared = {**pool["provider"], "network_interface": NETWORK}
    found = provider(tmp_path, {"resource_pools": [{**pool, "provider": shared}]})
    body = await launched(gcp_server, gcp_metadata_url, network_interface=found.network_interface)
    [interface] = body["instanceProperties"]["networkInterfaces"]
    assert interface["network"] == "projects/net-host/global/networks/shared"
    assert interface["subnetwork"] == "projects/net-host/regions/us-west1/subnetworks/lab"
    assert "accessConfigs" not in interface
