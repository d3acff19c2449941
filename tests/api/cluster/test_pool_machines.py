"""What the list tells of pools whose machines are started on demand."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace
from tests.api.client import Client
from tests.api.cluster.test_pools import listed
from tests.api.master import PASSWORD, SETTINGS, running_services
from tests.contracts.fake_machines import FakeCloud, FakeMachines
from tests.covers import covers

from determined_master.api.app import Api
from determined_master.api.table import all_routes
from determined_master.composition.machine_providers import MACHINE_PROVIDERS
from determined_master.domain.machines.offers import Choice, LeftOut, Offer, OfferReport
from determined_master.domain.machines.scaling import MachineType
from determined_master.domain.machines.status import MachineStatus
from determined_master.ports.machines import MachineSite
from determined_master.provision.loops import MachineLoops
from determined_master.services.access.auth import Auth
from determined_master.services.access.identities import Identities
from determined_master.services.access.passwords import Passwords
from determined_master.settings.pools import ResourcePool
from determined_master.settings.providers.aws import AwsProvider
from determined_master.settings.providers.gcp import GcpProvider
from determined_master.store.db import Address, Database

E = "scheduling-and-provisioning"
SECRET = "s3cret"
POOL_PATH = "/api/v1/resource-pools"
POOLS = (
    ResourcePool(pool_name="default"),
    ResourcePool(
        pool_name="east",
        max_aux_containers_per_agent=9,
        provider=AwsProvider(
            type="aws",
            image_id="ami-1",
            ssh_key_name="ops",
            min_instances=1,
            max_instances=4,
            max_cost_per_hour=50.0,
            price_per_hour=3.1,
            startup_script=SECRET,
            container_startup_script=SECRET,
            agent_config_file_contents={"password": SECRET},
            max_idle_agent_period_s=300.0,
            agent_docker_network="host",
        ),
    ),
    ResourcePool(pool_name="west", provider=GcpProvider(type="gcp", project="lab")),
)
TYPES = {
    "east": MachineType(
        slots=8,
        device_type="cuda",
        instance_type="g4dn.metal",
        image="ami-1",
        accelerator="8 x T4",
        location="us-east-1",
        is_preemptible=True,
        price_per_hour=3.1,
    ),
    "west": MachineType(slots=0, instance_type="n1-standard-32", location="us-west1-b"),
}


@pytest.fixture
async def client(
    database: Address, pool: Database, passwords: Passwords, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Client]:
    """A user of a master with two such pools."""

    def make(settings: Any, site: MachineSite) -> FakeMachines:
        return FakeMachines(FakeCloud(), site.pool, TYPES[site.pool])

    for name in ("aws", "gcp"):
        monkeypatch.setitem(MACHINE_PROVIDERS, name, make)
    status = MachineStatus(machines=2, max_machines=4, cost_per_hour=6.2)
    monkeypatch.setattr(MachineLoops, "status", lambda self, pool: status)
    settings = replace(SETTINGS, resource_pools=POOLS)
    async with running_services(database, pool, passwords, settings) as (services, _):
        api = Api(all_routes(), services, services[Identities])
        opened = await services[Auth].login("determined", PASSWORD, is_hashed=False)
        yield Client(api, opened.token)
        api.close()


@covers(f"{E} e.2.type_dynamic e.2.location_dynamic e.2.machines e.2.scripts")
async def test_the_list_shows_the_machine_type_of_a_pool(client: Client) -> None:
    answer = await client("GET", "/api/v1/resource-pools")
    assert SECRET.encode() not in answer.body
    found = await listed(client)
    east, west, plain = found["east"], found["west"], found["default"]
    assert plain["type"] == "RESOURCE_POOL_TYPE_STATIC"
    assert (east["type"], west["type"]) == ("RESOURCE_POOL_TYPE_AWS", "RESOURCE_POOL_TYPE_GCP")
    assert (east["location"], west["location"]) == ("us-east-1", "us-west1-b")
    assert (east["imageId"], east["instanceType"]) == ("ami-1", "g4dn.metal")
    assert east["accelerator"] == "8 x T4"
    assert (east["minAgents"], east["maxAgents"], east["numAgents"]) == (1, 4, 0)
    assert (east["slotsPerAgent"], west["slotsPerAgent"]) == (8, 0)
    assert (east["slotType"], west["slotType"]) == ("TYPE_CUDA", "TYPE_UNSPECIFIED")
    assert (east["preemptible"], west["preemptible"]) == (True, False)
    assert (east["maxIdleAgentPeriod"], east["maxAgentStartingPeriod"]) == (300, 1200)
    assert east["pricePerHour"] == 3.1
    assert (east["costPerHour"], east["maxCostPerHour"]) == (6.2, 50.0)
    assert "costPerHour" not in plain
    assert "maxCostPerHour" not in west
    assert "pricePerHour" not in west
    assert "pricePerHour" not in plain
    assert east["agentDockerNetwork"] == "host"
    assert east["startupScript"] == east["containerStartupScript"] == ""
    assert east["details"]["aws"]["sshKeyName"] == "ops"
    assert east["details"]["priorityScheduler"]["defaultPriority"] == 42
    assert west["details"]["gcp"]["project"] == "lab"


@covers(f"{E} e.4.single_dynamic e.4.total_dynamic e.4.refused")
async def test_an_experiment_that_its_machines_could_never_hold_is_refused(client: Client) -> None:
    async def submit(pool: str, slots: int, more: str = "") -> str:
        config = (
            "{name: e, entrypoint: x, searcher: {name: single, metric: loss}, resources: "
            f"{{resource_pool: {pool}, slots_per_trial: {slots}{more}}}}}"
        )
        body = {"config": config, "activate": False}
        answer = await client("POST", "/api/v1/experiments", body)
        return "" if answer.status == 200 else answer.text

    assert await submit("east", 32) == ""
    assert "has 32 slots; ask for fewer or raise max_instances" in await submit("east", 40)
    assert await submit("east", 8, ", is_single_node: true") == ""
    said = await submit("east", 16, ", is_single_node: true")
    assert "request unfulfillable, please try requesting less slots" in said
    assert "slots requested exceeds cluster capacity" in await submit("west", 1)


def offered(*prices: float | None) -> tuple[Offer, ...]:
    """Offers of these prices."""
    return tuple(
        Offer(machine_type=f"type-{n}", place="z1", market="spot", price_per_hour=price)
        for n, price in enumerate(prices)
    )


async def test_offers_are_shown_in_order_with_the_price_of_all_machines(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    until = datetime(2026, 1, 31, 10, tzinfo=UTC)
    first, second, third = offered(0.5, None, 3.0)
    report = OfferReport(
        choice=Choice(
            offers=(first, second),
            left_out=(LeftOut(offer=third, reason="no room", until=until),),
        )
    )
    monkeypatch.setattr(FakeMachines, "offers", lambda self: report)
    found = (await client("GET", f"{POOL_PATH}/east/offers?slots=12")).json()
    assert (found["slotsPerMachine"], found["machines"], found["maxMachines"]) == (8, 2, 4)
    assert found["problem"] == ""
    shown = [(o["machineType"], o.get("pricePerHour"), o["leftOut"]) for o in found["offers"]]
    assert shown == [("type-0", 0.5, ""), ("type-1", None, ""), ("type-2", 3.0, "no room")]
    assert [o.get("totalPerHour") for o in found["offers"]] == [1.0, None, 6.0]
    assert found["offers"][2]["leftOutUntil"] == "2026-01-31T10:00:00Z"
    assert (found["offers"][0]["place"], found["offers"][0]["market"]) == ("z1", "spot")
    found = (await client("GET", f"{POOL_PATH}/east/offers?slots=40")).json()
    assert found["problem"] == (
        "40 slots need 5 machines, and the pool may have 4 (max_instances, max_cost_per_hour)"
    )


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        ("east/offers?slots=-1", 400, "slots must be from 0 to 100000 but found -1"),
        ("west/offers?slots=1", 400, "machines of resource pool west have no slots but 1"),
        ("none/offers", 404, "cannot find resource pool none: there are default, east, west"),
        ("default/offers", 400, "resource pool default has no machines on demand"),
    ],
)
async def test_a_question_about_offers_without_an_answer_names_the_reason(
    client: Client, path: str, status: int, text: str
) -> None:
    answer = await client("GET", f"{POOL_PATH}/{path}")
    assert answer.status == status, answer.text
    assert text in answer.text
