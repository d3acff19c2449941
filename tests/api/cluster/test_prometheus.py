"""The routes for Prometheus, read as its server reads them."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.api import cases_experiments as scene
from tests.api.client import Client
from tests.api.samples import World

from determined_master.services.access.guard import Guard
from determined_master.services.cluster.master import Master

Samples = dict[str, list[tuple[dict[str, str], float]]]
ROUTES = ("/debug/prom/metrics", "/prom/det-state-metrics", "/prom/det-http-sd-config")


async def read(client: Client, path: str) -> Samples:
    answer = await client("GET", path)
    assert answer.status == 200, answer.body
    assert answer.headers["content-type"].startswith("text/plain; version=")
    return {
        family.name: [(sample.labels, sample.value) for sample in family.samples]
        for family in text_string_to_metric_families(answer.body.decode())
    }


async def test_the_master_s_own_process_is_measured(user: Client) -> None:
    found = await read(user, "/debug/prom/metrics")
    [(_, resident)] = found["process_resident_memory_bytes"]
    assert resident > 1_000_000


async def test_a_running_trial_is_found_by_its_container(world: World) -> None:
    await scene.running(world)
    names = world.names
    found = await read(world.clients["admin"], "/prom/det-state-metrics")
    [(labels, value)] = found["det_container"]
    assert value == 1
    assert labels["container_id"] == names["container_id"]
    assert labels["allocation_id"] == names["allocation_id"]
    assert (labels["agent_id"], labels["task_type"]) == ("a1", "TRIAL")
    assert labels["experiment_id"] == str(names["experiment_id"])
    assert found["det_agent_slots_used"] == [({"agent_id": "a1", "resource_pool": "default"}, 1)]
    assert [value for labels, value in found["det_allocations"]] == [1]


async def test_containers_of_tasks_that_the_caller_does_not_see_are_counted_and_not_named(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await scene.running(world)

    async def sees_nothing(*_: object) -> set[str]:
        return set()

    monkeypatch.setattr(Guard, "seen", sees_nothing)
    found = await read(world.clients["admin"], "/prom/det-state-metrics")
    assert found["det_container"] == []
    [(_, used)] = found["det_agent_slots_used"]
    assert used == 1


async def test_exporters_of_connected_agents_are_listed(world: World) -> None:
    await scene.running(world)
    answer = await world.clients["admin"]("GET", "/prom/det-http-sd-config")
    [target] = answer.json()
    assert target["labels"] == {"det_agent_id": "a1", "det_resource_pool": "default"}
    assert [port.rpartition(":")[2] for port in target["targets"]] == ["9400", "8080"]


@pytest.mark.parametrize("path", ROUTES)
async def test_metrics_need_a_token(anonymous: Client, path: str) -> None:
    assert (await anonymous("GET", path)).status == 401


@pytest.mark.parametrize("path", ROUTES)
async def test_metrics_can_be_switched_off(
    user: Client, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Master, "has_prometheus", lambda self: False)
    answer = await user("GET", path)
    assert (answer.status, "observability.enable_prometheus" in answer.text) == (404, True)
