"""The routes for Prometheus, read as its server reads them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.api import cases_experiments as scene
from tests.api.client import Client
from tests.api.samples import World

from determined_master.domain.access.rules import Caller
from determined_master.ports.agents import AgentSnapshot
from determined_master.services.access.guard import Guard
from determined_master.services.cluster.agents import Agents
from determined_master.services.cluster.master import Master
from determined_wire.agent_link import Device

Samples = dict[str, list[tuple[dict[str, str], float]]]
BOARD = Path(__file__).parents[3] / "deploy/grafana/determined.json"
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


async def test_a_gpu_is_found_with_its_task(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await scene.running(world)
    listed = Agents.list_all

    async def with_gpus(self: Agents, caller: Caller) -> list[AgentSnapshot]:
        cuda = tuple(Device(number, "H100", f"GPU-{number}", "cuda") for number in range(8))
        return [msgspec.structs.replace(a, devices=cuda) for a in await listed(self, caller)]

    monkeypatch.setattr(Agents, "list_all", with_gpus)
    found = await read(world.clients["admin"], "/prom/det-state-metrics")
    [(labels, value)] = found["det_container_gpu"]
    assert (labels["gpu_uuid"], value) == ("GPU-0", 1)
    assert labels["experiment_id"] == str(world.names["experiment_id"])


async def test_the_board_for_grafana_asks_for_metrics_that_there_are(world: World) -> None:
    await scene.running(world)
    client = world.clients["admin"]
    known = {**await read(client, ROUTES[0]), **await read(client, ROUTES[1])}
    board = json.loads(BOARD.read_text())
    asked = " ".join(t["expr"] for panel in board["panels"] for t in panel["targets"])
    names = set(re.findall(r"\b(?:det|process)_\w+", asked))
    assert len(names) > 5
    # Counters have the suffix in their samples, and not in their families.
    assert {name.removesuffix("_total") for name in names} <= known.keys()


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
