"""Machines of GCP (scheduling-and-provisioning c.9)."""

from __future__ import annotations

import logging
from datetime import timedelta

import pytest
from tests.backends.cloud.gcp_place import GcpPlace
from tests.backends.cloud.gcp_server import Fault, GcpServer
from tests.backends.cloud.hours import Hours
from tests.backends.cloud.metadata_server import gcp_metadata
from tests.contracts.machine_provider_contract import (
    MachineProviderContract,
    ids,
    listed,
    token,
    until_listed,
)
from tests.covers import covers

from determined_master.backends.gcp import launches as gcp_module
from determined_master.ports.machines import LaunchFailed, ProviderFailed

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("fast_gcp")]


@pytest.fixture
def place(gcp_server: GcpServer, gcp_metadata_url: str) -> GcpPlace:
    return GcpPlace(gcp_server, gcp_metadata_url)


@covers("scheduling-and-provisioning c.9.found c.9.bulk c.9.once c.9.terminate")
class TestContract(MachineProviderContract):
    """Of all providers."""


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
async def test_a_host_unknown_to_every_cloud_is_an_error(gcp_server: GcpServer) -> None:
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
async def test_a_refusal_by_gcp_is_a_failed_launch(
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
async def test_an_operation_that_fails_later_is_a_failed_launch(place: GcpPlace) -> None:
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


async def test_names_that_are_taken_are_reported(place: GcpPlace) -> None:
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
    place.server.warnings = [{"code": "DEPRECATED_RESOURCE_USED", "message": "old image"}]
    await place.provider.open()
    machines = ids(await place.provider.launch(2, token()))
    with caplog.at_level(logging.INFO):
        await until_listed(place.provider, machines)
        assert "QUOTA_EXCEEDED" not in caplog.text
        await place.provider.list_machines()
        assert "a launch at GCP failed: QUOTA_EXCEEDED: no more" in caplog.text
        assert "a launch at GCP: DEPRECATED_RESOURCE_USED: old image" in caplog.text
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
async def test_an_unknown_operation_is_given_up(
    place: GcpPlace, caplog: pytest.LogCaptureFixture
) -> None:
    await place.provider.open()
    machines = ids(await place.provider.launch(1, token()))
    await place.provider.terminate(sorted(machines))
    place.server.operations.clear()
    await place.provider.list_machines()
    assert "its outcome is unknown" in caplog.text
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
