"""The loop of a pool with a real provider of GCP: faults double no machine and lose none."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from tests.backends.cloud.gcp_place import GcpPlace
from tests.backends.cloud.gcp_server import Fault, GcpServer
from tests.backends.gcp.test_offers import FIRST, SECOND, ZonesPlace, inserts
from tests.contracts.machine_provider_contract import listed
from tests.provision.machine_world import World

from determined_master.ports.machines import ProviderFailed
from determined_master.settings.providers.gcp import GcpInstanceType
from determined_master.store.db import Database

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("fast_gcp")]
MINUTE = timedelta(minutes=1)


@pytest.fixture
async def place(gcp_server: GcpServer, gcp_metadata_url: str) -> AsyncIterator[GcpPlace]:
    """A pool with one offer."""
    kind = GcpInstanceType(machine_type="n1-standard-8", gpu_type="nvidia-tesla-t4", gpu_num=2)
    made = GcpPlace(gcp_server, gcp_metadata_url, instance_type=kind)
    yield made
    await made.provider.close()


@pytest.fixture
async def zones(gcp_server: GcpServer, gcp_metadata_url: str) -> AsyncIterator[ZonesPlace]:
    """A pool with offers in two zones."""
    made = ZonesPlace(gcp_server, gcp_metadata_url)
    yield made
    await made.provider.close()


async def world_of(
    place: GcpPlace, pool: Database, patch: pytest.MonkeyPatch, tasks: int
) -> World:
    """A pool whose master leads, and that many tasks of a whole machine."""
    world = World(pool, patch, provider=place.provider, max_machines=8)
    await world.lead()
    for _ in range(tasks):
        world.submit(slots=2)
    return world


async def ticks(world: World, count: int = 5) -> None:
    """The loop runs again after a failure, as `MachineLoop.run` has it."""
    for _ in range(count):
        with contextlib.suppress(ProviderFailed):
            await world.tick(MINUTE)


@pytest.mark.parametrize("lost", [1, 2, 3])
async def test_a_launch_whose_answers_are_lost_again_and_again_has_its_machines_once(
    pool: Database, monkeypatch: pytest.MonkeyPatch, place: GcpPlace, lost: int
) -> None:
    place.server.lost_answers = lost
    world = await world_of(place, pool, monkeypatch, 2)
    await ticks(world)
    assert place.server.lost_answers == 0
    assert len(place.server.instances) == 2
    world.begin()  # another master leads
    await world.lead()
    await ticks(world)
    assert len(place.server.instances) == 2
    assert len(await listed(place.provider)) == 2


@pytest.mark.parametrize(
    "fault",
    [
        Fault(429, "Too many requests", "rateLimitExceeded"),
        Fault(403, "Rate Limit Exceeded", "rateLimitExceeded"),
        Fault(503, "Service unavailable", "backendError"),
    ],
)
async def test_a_cloud_that_throttles_every_call_is_asked_until_it_answers(
    pool: Database, monkeypatch: pytest.MonkeyPatch, place: GcpPlace, fault: Fault
) -> None:
    world = await world_of(place, pool, monkeypatch, 2)
    place.server.fault = fault
    await ticks(world, 3)
    place.server.fault = None
    await ticks(world)
    assert len(place.server.instances) == 2
    place.server.fault = fault
    await ticks(world, 3)
    place.server.fault = None
    await ticks(world)
    assert len(place.server.instances) == 2


async def test_a_token_that_expires_in_a_launch_doubles_no_machine(
    pool: Database, monkeypatch: pytest.MonkeyPatch, place: GcpPlace
) -> None:
    place.server.lost_answers = 1
    world = await world_of(place, pool, monkeypatch, 2)
    await world.tick()
    assert len(place.server.instances) == 2
    valid, place.server.token = place.server.token, "another"
    await ticks(world, 3)
    place.server.token = valid
    await ticks(world)
    assert len(place.server.instances) == 2
    assert len(await listed(place.provider)) == 2


async def test_a_launch_that_gives_three_of_eight_is_completed(
    pool: Database, monkeypatch: pytest.MonkeyPatch, place: GcpPlace
) -> None:
    place.server.room = 3
    world = await world_of(place, pool, monkeypatch, 8)
    await world.tick()
    assert len(place.server.instances) == 3
    place.server.room = None
    await ticks(world)
    assert len(place.server.instances) == 8
    assert [int(body["count"]) for body in place.server.bodies()][-1] == 5


async def test_a_zone_that_closes_ends_no_machine_and_the_next_one_gets_the_launches(
    pool: Database, monkeypatch: pytest.MonkeyPatch, zones: ZonesPlace
) -> None:
    world = await world_of(zones, pool, monkeypatch, 1)
    await world.tick()
    first = {*zones.server.instances}
    assert {zone for zone, _ in inserts(zones.server)} == {FIRST}
    # The zone is full and, for a while, not reached.
    kinds = ("g2-standard-8", "n1-standard-8")
    zones.server.exhausted = {(FIRST, kind): "ZONE_RESOURCE_POOL_EXHAUSTED" for kind in kinds}
    zones.server.unreachable = [f"zones/{FIRST}"]
    for _ in range(3):
        world.submit(slots=2)
    await ticks(world, 3)
    assert {*zones.server.instances} == first
    zones.server.unreachable = []
    zones.now += MINUTE
    await ticks(world)
    assert first < {*zones.server.instances}
    new = [one for name, one in zones.server.instances.items() if name not in first]
    assert {one["zone"].rpartition("/")[2] for one in new} == {SECOND}


async def test_an_offer_above_the_maximum_price_is_never_tried(
    gcp_server: GcpServer, gcp_metadata_url: str, pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    cheap = ZonesPlace(gcp_server, gcp_metadata_url)
    prices = {one.machine_type: one.price_per_hour for one in cheap.settings.offers}
    lower, higher = prices["n1-standard-8"], prices["g2-standard-8"]
    assert lower is not None
    assert higher is not None
    assert lower < higher
    place = ZonesPlace(gcp_server, gcp_metadata_url, max_price=lower)
    for zone in (FIRST, SECOND):
        gcp_server.exhausted[zone, "n1-standard-8"] = "ZONE_RESOURCE_POOL_EXHAUSTED"
    world = await world_of(place, pool, monkeypatch, 1)
    await ticks(world)
    assert {kind for _, kind in inserts(gcp_server)} == {"n1-standard-8"}
    assert gcp_server.instances == {}
    await place.provider.close()


async def test_two_masters_with_one_label_see_the_machines_of_each_other(
    gcp_server: GcpServer, gcp_metadata_url: str, pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = (GcpPlace(gcp_server, gcp_metadata_url, label_value="shared") for _ in "ab")
    world = await world_of(one, pool, monkeypatch, 1)
    await ticks(world, 2)
    await other.provider.open()
    assert (await listed(other.provider)).keys() == gcp_server.instances.keys()
    for place in (one, other):
        await place.provider.close()
