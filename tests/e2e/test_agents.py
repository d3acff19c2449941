"""Agents and slots that are switched off on a real cluster."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.covers import covers
from tests.e2e import scripts
from tests.e2e.busy_agents import running_on
from tests.e2e.cluster import APIException, Cluster, until
from tests.e2e.command_line import det
from tests.e2e.test_life import config

from determined.common.api.errors import ForbiddenException
from determined_agent.devices.cpu import artificial_devices
from determined_wire.release import VERSION

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

STAYS = scripts.WAITS.replace("info.latest_checkpoint or ", "")
"""Every run of it trains until it is asked to leave."""


def agent(cluster: Cluster, name: str) -> dict[str, Any]:
    found: dict[str, Any] = cluster.get(f"/api/v1/agents/{name}")["agent"]
    return found


@pytest.fixture(autouse=True)
def everything_on(pair: Cluster) -> Any:
    yield
    for name in ("agent-0", "agent-1"):
        cluster_agent = pair.post(f"/api/v1/agents/{name}/enable")["agent"]
        assert cluster_agent["enabled"]
    pair.settle()  # the next test looks at what its own task holds


@covers("agent-config 7.agent_switch")
@covers("scheduling-and-provisioning b.6.disable")
def test_work_of_a_disabled_agent_continues_elsewhere(pair: Cluster) -> None:
    experiment = pair.submit(config(), {"t.py": STAYS})
    [first] = until(lambda: running_on(pair), what="a running task")
    shown = pair.post(f"/api/v1/agents/{first}/disable", {"drain": False})["agent"]
    assert (shown["enabled"], shown["draining"]) == (False, False)
    other = {"agent-0": "agent-1", "agent-1": "agent-0"}[first]
    until(lambda: running_on(pair) == [other], what="the task on the other agent")
    [trial] = pair.trials(experiment)
    assert trial["restarts"] == 0
    pair.post(f"/api/v1/experiments/{experiment}/kill")
    assert pair.wait(experiment) == "CANCELED"
    assert "(reason: agent disabled)" in pair.text(trial["id"])


@covers("agent-config 7.agent_switch 7.drain")
@covers("scheduling-and-provisioning b.6.drain")
def test_a_draining_agent_keeps_its_task_and_gets_no_other(pair: Cluster) -> None:
    gate = pair.root / "drained"
    first = pair.submit(config(f"while [ ! -e {gate} ]; do sleep 0.05; done"), {})
    [place] = until(lambda: running_on(pair), what="a running task")
    shown = pair.post(f"/api/v1/agents/{place}/disable", {"drain": True})["agent"]
    assert (shown["enabled"], shown["draining"]) == (False, True)
    others = [pair.submit(config("true"), {}) for _ in range(2)]
    assert [pair.wait(e) for e in others] == ["COMPLETED"] * 2
    assert running_on(pair) == [place]
    gate.touch()
    assert pair.wait(first) == "COMPLETED"
    assert agent(pair, place)["enabled"] is False


@covers("agent-config 7.slot_switch 7.not_schedulable")
@covers("scheduling-and-provisioning b.6.slot_disable")
def test_a_slot_that_is_disabled_gets_no_task_until_it_is_enabled(pair: Cluster) -> None:
    for name in ("agent-0", "agent-1"):
        slot = pair.post(f"/api/v1/agents/{name}/slots/0/disable", {"drain": False})["slot"]
        assert slot["enabled"] is False
    experiment = pair.submit(config("true"), {})
    until(lambda: pair.state(experiment) == "QUEUED", what="a waiting experiment")
    assert agent(pair, "agent-0")["slotStats"]["typeStats"]["TYPE_CPU"]["disabled"] == 1
    pair.post("/api/v1/agents/agent-0/slots/0/enable")
    assert pair.wait(experiment) == "COMPLETED"


@covers("scheduling-and-provisioning d.3.back d.4.switches_kept")
def test_switches_survive_the_master(pair: Cluster) -> None:
    pair.post("/api/v1/agents/agent-0/disable", {"drain": True})
    pair.post("/api/v1/agents/agent-1/slots/0/disable", {"drain": False})
    pair.kill("master")
    pair.start_master()
    until(lambda: len(pair.get("/api/v1/agents")["agents"]) == 2, what="both agents")
    until(lambda: pair.connected() == ["agent-1"], what="the one that is not switched off")
    assert agent(pair, "agent-0")["draining"] is True
    other = agent(pair, "agent-1")
    assert other["enabled"] is True
    assert other["slots"]["/agents/agent-1/slots/0"]["enabled"] is False


@covers("scheduling-and-provisioning b.6.unknown_agent b.6.bad_slot b.6.unknown_slot")
def test_a_missing_agent_or_slot_cannot_be_switched(pair: Cluster) -> None:
    for path, status, said in (
        ("agents/nobody/disable", 404, "agent 'nobody' not found"),
        ("agents/agent-0/slots/7/disable", 404, "slot '7' not found"),
        ("agents/agent-0/slots/x/enable", 400, "invalid slot id: x"),
    ):
        with pytest.raises(APIException) as refused:
            pair.post(f"/api/v1/{path}")
        assert refused.value.status_code == status
        assert said in str(refused.value)
    with pytest.raises(ForbiddenException):
        pair.post("/api/v1/agents/agent-0/disable", {}, user="determined")


@covers("agent-config 7.fields 3.slot")
def test_an_agent_is_shown_with_everything_it_reported(pair: Cluster) -> None:
    shown = agent(pair, "agent-1")
    [expected] = artificial_devices("agent-1", 1)
    [slot] = shown["slots"].values()
    assert slot["device"] == {
        "id": 0,
        "brand": expected.brand,
        "uuid": expected.uuid,
        "type": "TYPE_CPU",
    }
    assert (slot["id"], slot["enabled"], slot["draining"]) == ("0", True, False)
    assert (shown["id"], shown["enabled"], shown["draining"]) == ("agent-1", True, False)
    assert datetime.fromisoformat(shown["registeredTime"]) < datetime.now(UTC)
    assert shown["version"] == VERSION
    assert shown["resourcePools"] == ["default"]
    assert shown["containers"] == {}
    assert len(shown["addresses"]) == 1


@covers("scheduling-and-provisioning b.6.cli_drain b.6.cli_all")
def test_the_command_line_drains_agents_and_names_what_still_runs(pair: Cluster) -> None:
    experiment = pair.submit(config(), {"t.py": scripts.WAITS})
    [place] = until(lambda: running_on(pair), what="a running task")
    [trial] = pair.trials(experiment)
    told = det(pair, "agent", "disable", "--all", "--drain")
    assert f"{place}" in told
    assert trial["taskId"] in told
    assert [a["draining"] for a in pair.get("/api/v1/agents")["agents"]] == [True, True]
    assert running_on(pair) == [place]
    listed = json.loads(det(pair, "agent", "disable", place, "--drain", "--json"))
    assert [row["task_id"] for row in listed] == [trial["taskId"]]
    pair.post(f"/api/v1/experiments/{experiment}/kill")
    assert pair.wait(experiment) == "CANCELED"
    until(lambda: not running_on(pair), what="an idle cluster")
    assert "No tasks are running on them." in det(pair, "agent", "disable", place, "--drain")
    det(pair, "agent", "enable", "--all")
    assert [a["enabled"] for a in pair.get("/api/v1/agents")["agents"]] == [True, True]
    assert "name one agent, or give --all" in det(pair, "agent", "disable", code=1)
