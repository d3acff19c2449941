"""Machines of GCP of several types, in several zones, on one market or two."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.backends.cloud.gcp_place import GcpPlace
from tests.backends.cloud.gcp_server import Fault, GcpServer
from tests.contracts.machine_provider_contract import (
    MachineProviderContract,
    ids,
    listed,
    token,
    until_listed,
)
from tests.domain.builders import T0

from determined_master.domain.machines.offers import tried_sentence
from determined_master.ports.machines import LaunchFailed, ProviderFailed
from determined_master.settings.providers.gcp import GcpInstanceType, GcpMachineChoice

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("fast_gcp")]

MINUTE = timedelta(minutes=1)
FIRST, SECOND = "us-west1-a", "us-west1-b"
L4 = GcpMachineChoice(machine_type="g2-standard-8")
T4 = GcpMachineChoice(machine_type="n1-standard-8", gpu_type="nvidia-tesla-t4", gpu_num=1)
FULL = "ZONE_RESOURCE_POOL_EXHAUSTED"


class ZonesPlace(GcpPlace):
    """A pool of two types in two zones."""

    def __init__(self, server: GcpServer, metadata_url: str, **changes: Any) -> None:
        self.now: datetime = T0
        values = {
            "instance_type": GcpInstanceType(),
            "instance_types": (L4, T4),
            "zones": (FIRST, SECOND),
            **changes,
        }
        super().__init__(server, metadata_url, **values)

    def make(self, pool: str, **options: Any) -> Any:
        """Its clock is the test's."""
        return super().make(pool, **{"now": lambda: self.now, **options})


@pytest.fixture
def place(gcp_server: GcpServer, gcp_metadata_url: str) -> ZonesPlace:
    return ZonesPlace(gcp_server, gcp_metadata_url)


class TestContract(MachineProviderContract):
    """Of all providers."""


def inserts(server: GcpServer) -> list[tuple[str, str]]:
    """Zone and machine type of each bulk insert."""
    return [
        (path.split("/")[4], body["instanceProperties"]["machineType"])
        for _, path, body in server.calls
        if path.endswith("/bulkInsert")
    ]


def texts(place: GcpPlace) -> str:
    """The sentence for users about the last launch."""
    report = place.provider.offers()
    return tried_sentence(report.tried, report.cooldowns)


async def test_the_first_zone_is_tried_first_and_has_the_machine(place: ZonesPlace) -> None:
    await place.provider.open()
    [machine] = await place.provider.launch(1, token())
    assert inserts(place.server) == [(FIRST, "g2-standard-8")]
    assert (machine.instance_type, machine.price_per_hour) == ("g2-standard-8", 0.8536)
    [found] = (await until_listed(place.provider, {machine.id})).values()
    assert (found.instance_type, found.price_per_hour) == ("g2-standard-8", 0.8536)
    await place.provider.close()


async def test_a_full_zone_is_left_out_and_the_next_is_tried(place: ZonesPlace) -> None:
    await place.provider.open()
    place.server.exhausted = {
        (FIRST, "g2-standard-8"): FULL,
        (SECOND, "g2-standard-8"): "QUOTA_EXCEEDED",
    }
    machines = ids(await place.provider.launch(2, token()))
    assert inserts(place.server) == [
        (FIRST, "g2-standard-8"),
        (SECOND, "g2-standard-8"),
        (FIRST, "n1-standard-8"),
    ]
    until = (T0 + 3 * MINUTE).strftime("%H:%M:%S UTC")
    assert texts(place) == (
        f"tried g2-standard-8 in {FIRST}, on-demand: no room, left out until {until}; "
        f"g2-standard-8 in {SECOND}, on-demand: quota, left out until {until}; "
        f"n1-standard-8 with 1 x nvidia-tesla-t4 in {FIRST}, on-demand: 2 started"
    )
    [body] = [b for b in place.server.bodies() if "n1-" in b["instanceProperties"]["machineType"]]
    assert body["instanceProperties"]["guestAccelerators"] == [
        {"acceleratorType": "nvidia-tesla-t4", "acceleratorCount": 1}
    ]
    await place.provider.launch(1, token())
    assert inserts(place.server)[3:] == [(FIRST, "n1-standard-8")]
    place.now += 3 * MINUTE
    place.server.exhausted = {}
    machines |= ids(await place.provider.launch(1, token()))
    assert inserts(place.server)[4:] == [(FIRST, "g2-standard-8")]
    assert machines <= (await listed(place.provider)).keys()
    await place.provider.close()


async def test_machines_of_all_zones_are_listed_and_ended(place: ZonesPlace) -> None:
    await place.provider.open()
    first = ids(await place.provider.launch(2, token()))
    place.server.exhausted = {(FIRST, "g2-standard-8"): FULL}
    second = ids(await place.provider.launch(2, token()))
    zones = {name: one["zone"].rpartition("/")[2] for name, one in place.server.instances.items()}
    assert {zones[name] for name in first} == {FIRST}
    assert {zones[name] for name in second} == {SECOND}
    other = place.again()
    await other.open()
    await until_listed(other, first | second)
    await other.terminate(sorted(first | second))
    await until_listed(place.provider, set())
    for one in (place.provider, other):
        await one.close()


async def test_a_machine_that_was_never_listed_is_ended_in_its_zone(place: ZonesPlace) -> None:
    await place.provider.open()
    place.server.exhausted = {(FIRST, "g2-standard-8"): FULL}
    [name] = ids(await place.provider.launch(1, token()))
    again = place.again()
    await again.open()
    await again.terminate([name, "never-there"])
    assert place.server.instances == {}
    for one in (place.provider, again):
        await one.close()


async def test_a_list_without_a_zone_is_no_list(place: ZonesPlace) -> None:
    await place.provider.open()
    await place.provider.launch(1, token())
    place.server.unreachable = [f"zones/{FIRST}"]
    with pytest.raises(ProviderFailed, match=f"zones/{FIRST} are not known at present"):
        await place.provider.list_machines()
    await place.provider.close()


@pytest.mark.parametrize(
    ("fault", "tries"),
    [
        (Fault(403, "Quota 'GPUS' exceeded", "quotaExceeded"), 4),
        (Fault(400, "Invalid value for field 'machineType'"), 4),
        (Fault(403, "Required permission of project 123456789012", "forbidden"), 1),
    ],
)
async def test_a_refusal_that_all_offers_would_get_is_not_repeated(
    place: ZonesPlace, fault: Fault, tries: int
) -> None:
    await place.provider.open()
    place.server.refusal = fault
    with pytest.raises(LaunchFailed):
        await place.provider.launch(1, token())
    assert len(inserts(place.server)) == tries
    assert "123456789012" not in texts(place)
    await place.provider.close()


async def test_a_launch_whose_answer_was_lost_is_found_and_never_tried_elsewhere(
    place: ZonesPlace,
) -> None:
    await place.provider.open()
    mine = token()
    place.server.exhausted = {(FIRST, "g2-standard-8"): FULL}
    first = await place.provider.launch(1, mine)
    place.server.exhausted = {}
    again = place.again()  # a new master does not know that the first zone was full
    await again.open()
    assert ids(await again.launch(1, mine, is_repeated=True)) == ids(first)
    assert len(place.server.instances) == 1
    await again.terminate(sorted(ids(first)))
    for one in (place.provider, again):
        await one.close()


async def test_a_lost_launch_without_machines_is_given_up_after_a_minute(
    place: ZonesPlace,
) -> None:
    await place.provider.open()
    lost = token()
    with pytest.raises(ProviderFailed) as caught:
        await place.provider.launch(1, lost, is_repeated=True)
    assert not isinstance(caught.value, LaunchFailed)
    place.now += MINUTE
    with pytest.raises(LaunchFailed):
        await place.provider.launch(1, lost, is_repeated=True)
    assert inserts(place.server) == []
    await place.provider.close()


@pytest.mark.parametrize(
    ("order", "types"),
    [
        ("listed", ["g2-standard-8", "n1-standard-8"]),
        ("price", ["n1-standard-8", "g2-standard-8"]),
    ],
)
async def test_spot_machines_are_preferred_in_the_order_of_the_settings(
    gcp_server: GcpServer, gcp_metadata_url: str, order: str, types: list[str]
) -> None:
    place = ZonesPlace(
        gcp_server,
        gcp_metadata_url,
        zones=(FIRST,),
        spot="prefer",
        offer_order=order,
    )
    await place.provider.open()
    gcp_server.exhausted = dict.fromkeys(
        [(FIRST, "g2-standard-8"), (FIRST, "n1-standard-8")], FULL
    )
    with pytest.raises(LaunchFailed, match=FULL):
        await place.provider.launch(1, token())
    spot = [
        (body["instanceProperties"]["machineType"], body["instanceProperties"]["scheduling"])
        for body in gcp_server.bodies()
    ]
    assert [kind for kind, _ in spot] == [*types, *types]
    assert [s.get("provisioningModel") for _, s in spot] == ["SPOT", "SPOT", None, None]
    assert [s["preemptible"] for _, s in spot] == [True, True, False, False]
    await place.provider.close()
