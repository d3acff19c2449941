"""Finding 9: an agent reports containers and writes logs of other agents."""

from __future__ import annotations

import pytest
from tests.api import cases_experiments as scene
from tests.api.samples import World

from determined_master import entropy
from determined_master.backends.agents.addresses import with_own_addresses
from determined_master.domain.allocation import messages as alloc
from determined_master.pools.live import LiveAllocations
from determined_master.services.cluster.agents import AgentReports
from determined_master.services.logs.task_logs import TaskLogs
from determined_wire.agent_link import Address, ContainerReport, LogBatch, LogSpan

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]


async def running(world: World) -> dict[str, str]:
    """A trial that runs on agent a1."""
    names = await scene.submitted(world)
    names["container_id"] = str(entropy.new_uuid())
    await scene.post(
        world, names, alloc.Assigned((alloc.Placed(names["container_id"], "a1", (0,)),))
    )
    await scene.container(world, names, "RUNNING")
    return names


def reports(world: World) -> AgentReports:
    services = world.services
    return AgentReports(
        world.engine, services[LiveAllocations], services[TaskLogs], lambda pool: None
    )


async def test_an_agent_does_not_end_the_container_of_another(world: World) -> None:
    names = await running(world)
    end = ContainerReport(names["container_id"], names["allocation_id"], "TERMINATED", exit_code=0)
    await reports(world).container_changed("evil", "boot", 1, end)
    found = world.services[LiveAllocations].find(names["allocation_id"])
    assert found is not None
    assert [c.state for c in found.containers] == ["RUNNING"]
    await reports(world).container_changed("a1", "boot", 1, end)
    assert world.services[LiveAllocations].find(names["allocation_id"]) is None


async def test_an_agent_does_not_write_the_log_of_a_task_that_has_ended(world: World) -> None:
    names = await running(world)
    end = ContainerReport(names["container_id"], names["allocation_id"], "TERMINATED", exit_code=0)
    await reports(world).container_changed("a1", "boot", 1, end)
    spans = (LogSpan(1, 1_700_000_000_000_000),)
    for agent_id, allocation, text in (
        ("evil", names["allocation_id"], "forged"),
        ("evil", "no-such-allocation.1", "forged"),
        ("a1", names["allocation_id"], "the last line"),
    ):
        task = names["task_id"]
        batch = LogBatch(names["container_id"], allocation, task, 1, text, spans)
        assert await reports(world).store_logs(agent_id, batch) == 1
    answer = await world.clients["admin"](
        "GET", f"/api/v1/tasks/{names['task_id']}/logs?limit=100"
    )
    assert b"forged" not in answer.body
    assert b"the last line" in answer.body


async def test_an_agent_does_not_lead_the_proxy_to_another_machine() -> None:
    ports = ("", "10.0.0.7", "10.0.0.9", "127.0.0.1", "169.254.169.254")
    report = ContainerReport(
        "c", "a", "RUNNING", addresses=tuple(Address("", 80, host, 80) for host in ports)
    )
    kept, foreign = with_own_addresses(report, "10.0.0.7")
    assert {a.host_ip for a in kept.addresses} == {"10.0.0.7"}
    assert foreign == ["10.0.0.9", "127.0.0.1", "169.254.169.254"]


async def test_an_agent_does_not_write_the_log_of_another(world: World) -> None:
    names = await running(world)
    other = await running(world)
    for agent_id, container, task in (
        ("evil", names["container_id"], names["task_id"]),
        ("a1", names["container_id"], other["task_id"]),
    ):
        spans = (LogSpan(1, 1_700_000_000_000_000),)
        batch = LogBatch(container, names["allocation_id"], task, 1, "forged", spans)
        assert await reports(world).store_logs(agent_id, batch) == 1
    for task in (names["task_id"], other["task_id"]):
        answer = await world.clients["admin"]("GET", f"/api/v1/tasks/{task}/logs?limit=100")
        assert b"forged" not in answer.body


async def test_a_pod_that_is_evicted_preempts_its_own_trial_alone(world: World) -> None:
    names = await running(world)
    report = ContainerReport(names["container_id"], names["allocation_id"], "RUNNING")
    await reports(world).pod_evicted("evil", report, "its pod is evicted")
    live = world.services[LiveAllocations]
    found = live.find(names["allocation_id"])
    assert found is not None
    assert found.preempt_reason is None
    await reports(world).pod_evicted("a1", report, "its pod is evicted")
    found = live.find(names["allocation_id"])
    assert found is not None
    assert found.preempt_reason == "its pod is evicted"
    gone = ContainerReport(names["container_id"], "no-such.1", "RUNNING")
    await reports(world).pod_evicted("a1", gone, "its pod is evicted")
