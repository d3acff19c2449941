"""Machines of GCP (scheduling-and-provisioning c.9)."""

from __future__ import annotations

import logging
import uuid
from datetime import timedelta
from typing import Any

import pytest
from tests.contracts.machine_provider_contract import (
    MachineProviderContract,
    ids,
    listed,
    token,
    until_listed,
)
from tests.covers import covers
from tests.provision.aws_place import site
from tests.provision.gcp_server import Fault, GcpServer
from tests.provision.metadata_server import ON_GCP, gcp_metadata
from tests.provision.test_spot import Hours

from determined_master.ports import LaunchFailed, MachineProvider, ProviderFailed
from determined_master.provision import gcp as gcp_module
from determined_master.provision.compute import Compute
from determined_master.provision.gcp import GcpMachines
from determined_master.provision.metadata import GcpMetadata
from determined_master.settings_gcp import (
    GcpInstanceType,
    GcpNetworkInterface,
    GcpProvider,
    GcpServiceAccount,
)

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Operations are asked about without a wait."""
    monkeypatch.setattr(gcp_module, "POLL_S", 0.01)


class GcpPlace:
    """A pool of one test."""

    def __init__(self, server: GcpServer, metadata_url: str, **changes: Any) -> None:
        self.server = server
        self._metadata_url = metadata_url
        self._settings = GcpProvider(
            type="gcp", **{"master_url": "http://det.example:8080", **changes}
        )
        self.provider: MachineProvider = self.make("gpus")

    def make(self, pool: str, **options: Any) -> GcpMachines:
        """A provider of a pool of this test's master."""
        return GcpMachines(
            self._settings,
            site(pool),
            metadata=GcpMetadata(self._metadata_url),
            make_client=lambda project, zone, token: Compute(
                project, zone, token, self.server.url
            ),
            **options,
        )

    def again(self) -> GcpMachines:
        return self.make("gpus")

    def other_pool(self) -> GcpMachines:
        return self.make("other")

    async def refuse_launches(self) -> None:
        self.server.room = 0

    async def leave_room_for(self, count: int) -> None:
        self.server.room = count

    async def stop_machine(self, machine_id: str) -> None:
        self.server.set_status(machine_id, "TERMINATED")

    async def become_unreachable(self) -> None:
        self.server.stop()


@pytest.fixture
def place(gcp_server: GcpServer, gcp_metadata_url: str) -> GcpPlace:
    return GcpPlace(gcp_server, gcp_metadata_url)


@covers("scheduling-and-provisioning c.9.found c.9.bulk c.9.once c.9.terminate")
class TestContract(MachineProviderContract):
    """Of all providers."""


async def launched(
    server: GcpServer, metadata_url: str, count: int = 1, **changes: Any
) -> dict[str, Any]:
    """The body of the call that started machines."""
    place = GcpPlace(server, metadata_url, **changes)
    await place.provider.open()
    await place.provider.launch(count, token())
    await place.provider.close()
    [body] = server.bodies()
    assert isinstance(body, dict)
    return body


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
        "sourceImage": "projects/determined-ai/global/images/det-environments-0736b6d",
        "diskSizeGb": "200",
        "diskType": "pd-standard",
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


async def test_a_pool_whose_name_is_no_label_has_one_nevertheless(
    gcp_server: GcpServer, gcp_metadata_url: str
) -> None:
    place = GcpPlace(gcp_server, gcp_metadata_url)
    upper, lower = place.make("GPU pool"), place.make("gpu-pool")
    for one in (upper, lower):
        await one.open()
    machines = ids(await upper.launch(1, token()))
    assert (await listed(upper)).keys() == machines
    assert await listed(lower) == {}
    for one in (upper, lower):
        await one.close()


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
        boot_disk_type="zones/us-west1-b/diskTypes/pd-ssd",
        boot_disk_size=300,
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
    assert kind["disks"][0]["initializeParams"]["diskType"] == "pd-ssd"
    assert kind["disks"][0]["initializeParams"]["diskSizeGb"] == "300"
    assert kind["networkInterfaces"] == [{"network": "mine"}]
    assert kind["tags"] == {"items": ["web"]}
    scopes = ["https://www.googleapis.com/auth/cloud-platform"]
    assert kind["serviceAccounts"] == [{"email": "a@b", "scopes": scopes}]


@covers("scheduling-and-provisioning c.9.interface")
@pytest.mark.parametrize(
    ("given", "interface"),
    [
        (GcpNetworkInterface(), {"network": "global/networks/default"}),
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
async def test_a_machine_is_told_its_slots_and_where_logs_go(
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
    assert "--env DET_SLOT_TYPE=cpu" in script
    assert "--gpus" not in script
    assert "guestAccelerators" not in body["instanceProperties"]


@covers("scheduling-and-provisioning c.9.states")
async def test_the_states_of_gcp_are_ours(place: GcpPlace) -> None:
    await place.provider.open()
    [name] = ids(await place.provider.launch(1, token()))
    found = {}
    for status in (
        "PROVISIONING", "STAGING", "RUNNING", "STOPPING", "SUSPENDING", "STOPPED", "SUSPENDED",
        "TERMINATED", "REPAIRING",
    ):  # fmt: skip
        place.server.set_status(name, status)
        [machine] = await place.provider.list_machines()
        found[status] = machine.state
    await place.provider.close()
    assert found == {
        "PROVISIONING": "starting",
        "STAGING": "starting",
        "RUNNING": "running",
        "STOPPING": "stopping",
        "SUSPENDING": "stopping",
        "STOPPED": "stopped",
        "SUSPENDED": "stopped",
        "TERMINATED": "stopped",
        "REPAIRING": "unknown",
    }


@covers("scheduling-and-provisioning c.9.found")
async def test_machines_are_listed_over_all_pages(place: GcpPlace) -> None:
    await place.provider.open()
    machines = ids(await place.provider.launch(5, token()))
    await until_listed(place.provider, machines)
    assert len(machines) == 5
    await place.provider.close()


@covers("scheduling-and-provisioning c.9.project_zone")
async def test_project_and_zone_are_the_masters_own_or_named_as_missing(
    gcp_server: GcpServer, gcp_metadata_url: str
) -> None:
    place = GcpPlace(gcp_server, gcp_metadata_url)
    await place.provider.open()
    assert place.provider.type.location == "us-west1-b"
    await place.provider.list_machines()
    await place.provider.close()
    assert gcp_server.calls[-1][1] == "/projects/lab/zones/us-west1-b/instances"
    with gcp_metadata({}) as nothing:
        for set_, missing in (({}, "project"), ({"project": "p"}, "zone")):
            place = GcpPlace(gcp_server, nothing, **set_)
            with pytest.raises(ProviderFailed, match=f"set provider.{missing}"):
                await place.provider.open()
            await place.provider.close()


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


@covers("scheduling-and-provisioning c.9.host")
async def test_a_host_that_no_cloud_tells_is_an_error(gcp_server: GcpServer) -> None:
    with gcp_metadata({}) as nothing:
        place = GcpPlace(gcp_server, nothing, master_url="", project="p", zone="z")
        with pytest.raises(ProviderFailed, match=r"internal-ip .* set provider.master_url"):
            await place.provider.open()
        await place.provider.close()


@covers("scheduling-and-provisioning c.9.errors")
@pytest.mark.parametrize(
    ("fault", "is_launch_failed"),
    [
        (Fault(400, "Invalid value for field 'machineType'"), True),
        (Fault(403, "Quota 'NVIDIA_T4_GPUS' exceeded", "quotaExceeded"), True),
        (Fault(403, "Rate Limit Exceeded", "rateLimitExceeded"), False),
        (Fault(503, "Backend Error", "backendError"), False),
    ],
)
async def test_what_gcp_refuses_is_a_launch_that_failed(
    place: GcpPlace, fault: Fault, is_launch_failed: bool
) -> None:
    await place.provider.open()
    place.server.refusal = fault
    with pytest.raises(ProviderFailed) as caught:
        await place.provider.launch(1, token())
    assert isinstance(caught.value, LaunchFailed) == is_launch_failed
    assert str(fault) in str(caught.value)
    await place.provider.close()


@covers("scheduling-and-provisioning c.9.errors")
async def test_what_fails_while_it_is_done_is_a_launch_that_failed(place: GcpPlace) -> None:
    place.server.polls_until_done = 3
    await place.provider.open()
    await place.refuse_launches()
    with pytest.raises(LaunchFailed, match="ZONE_RESOURCE_POOL_EXHAUSTED: The zone does not"):
        await place.provider.launch(2, token())
    await place.provider.close()


@covers("scheduling-and-provisioning c.9.bulk c.9.tracker")
async def test_fewer_machines_than_wanted_are_no_error_and_the_reason_is_logged(
    place: GcpPlace, caplog: pytest.LogCaptureFixture
) -> None:
    await place.provider.open()
    await place.leave_room_for(2)
    assert len(await place.provider.launch(3, token())) == 2
    assert "a launch at GCP failed: ZONE_RESOURCE_POOL_EXHAUSTED" in caplog.text
    await place.provider.close()


@covers("scheduling-and-provisioning c.9.once")
async def test_a_launch_whose_request_gcp_has_forgotten_starts_nothing_more(
    place: GcpPlace,
) -> None:
    await place.provider.open()
    mine = token()
    first = await place.provider.launch(2, mine)
    place.server._by_request.clear()
    assert ids(await place.provider.launch(2, mine)) == ids(first)
    assert len(place.server.instances) == 2
    await place.provider.close()


async def test_names_that_somebody_else_has_are_told(place: GcpPlace) -> None:
    await place.provider.open()
    mine = token()
    await place.provider.launch(1, mine)
    place.server._by_request.clear()
    for instance in place.server.instances.values():
        instance["labels"] = {}
    with pytest.raises(LaunchFailed, match="already exists"):
        await place.provider.launch(1, mine)
    await place.provider.close()


@covers("scheduling-and-provisioning c.9.tracker")
async def test_a_launch_that_takes_long_is_looked_after_until_its_end(
    place: GcpPlace, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gcp_module, "LAUNCH_PATIENCE", timedelta(0))
    place.server.polls_until_done = 2
    place.server.problems = [{"code": "QUOTA_EXCEEDED", "message": "no more"}]
    place.server.warnings = [{"code": "SOON", "message": "old image"}]
    await place.provider.open()
    machines = ids(await place.provider.launch(2, token()))
    with caplog.at_level(logging.INFO):
        await until_listed(place.provider, machines)
        assert "QUOTA_EXCEEDED" not in caplog.text
        await place.provider.list_machines()
        assert "a launch at GCP failed: QUOTA_EXCEEDED: no more" in caplog.text
        assert "a launch at GCP: SOON: old image" in caplog.text
        assert "of 1 operations of GCP 1 are done" in caplog.text
        polls = len(polled(place.server))
        await place.provider.list_machines()
    assert len(polled(place.server)) == polls
    await place.provider.close()


def polled(server: GcpServer) -> list[str]:
    return [path for _, path, _ in server.calls if "/operations/" in path]


@covers("scheduling-and-provisioning c.9.tracker")
async def test_an_operation_that_never_ends_is_given_up(
    gcp_server: GcpServer, gcp_metadata_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    hours = Hours()
    place = GcpPlace(gcp_server, gcp_metadata_url, operation_timeout_period_s=60.0)
    provider = place.make("gpus", now=hours)
    await provider.open()
    machines = sorted(ids(await provider.launch(2, token())))
    gcp_server.polls_until_done = 1000
    await provider.terminate(machines[:1])
    await provider.list_machines()
    assert "operation_timeout_period" not in caplog.text
    hours.gone += timedelta(seconds=60)
    await provider.list_machines()
    assert f"the end of {machines[0]} at GCP is not done after 60 s" in caplog.text
    polls = len(polled(gcp_server))
    await provider.list_machines()
    assert len(polled(gcp_server)) == polls
    await provider.close()


@covers("scheduling-and-provisioning c.9.tracker")
async def test_an_operation_that_nobody_knows_is_given_up(
    place: GcpPlace, caplog: pytest.LogCaptureFixture
) -> None:
    await place.provider.open()
    machines = ids(await place.provider.launch(1, token()))
    await place.provider.terminate(sorted(machines))
    place.server.operations.clear()
    await place.provider.list_machines()
    assert "nobody knows what came of it" in caplog.text
    await place.provider.close()


@covers("scheduling-and-provisioning c.9.terminate")
async def test_a_machine_that_cannot_be_ended_does_not_keep_the_others(
    place: GcpPlace, caplog: pytest.LogCaptureFixture
) -> None:
    await place.provider.open()
    machines = sorted(ids(await place.provider.launch(2, token())))
    place.server.delete_refusal = Fault(403, "you may not")
    with pytest.raises(ProviderFailed, match="you may not"):
        await place.provider.terminate(machines)
    await place.provider.close()
    for name in machines:
        assert f"machine {name} could not be ended" in caplog.text
