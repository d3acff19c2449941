"""`det` 0.38.1 against our master: users, master, agents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.compat.client import MODEL, VERSION, Client, shown
from tests.compat.conftest import created
from tests.e2e.cluster import PASSWORD, Cluster, until

from determined_master.settings.master import load
from determined_wire.masking import mask_secrets

pytestmark = [pytest.mark.compat, pytest.mark.slow, pytest.mark.xdist_group("compat")]


def test_a_user_logs_in_is_known_and_logs_out(client: Client, cluster: Cluster) -> None:
    other = Client(client.python, cluster.root / "other", cluster.address)
    refused = other.det("user", "login", "determined", typed="wrong\n", code=1)
    assert "Invalid username/password" in refused.err
    other.det("user", "login", "determined", typed=f"{PASSWORD}\n")
    assert "'determined'" in other.det("user", "whoami").out
    other.det("user", "logout")
    assert "'determined'" not in other.det("user", "whoami", code=1).out
    assert "'admin'" in client.det("user", "whoami").out


def test_both_versions_are_reported(client: Client, cluster: Cluster) -> None:
    said = client.det("version").out
    info = cluster.get("/info")
    assert f"version: {VERSION}" in said
    for name in ("version", "cluster_id", "master_id"):
        assert f"{name}: {info[name]}" in said


def test_the_master_describes_itself(client: Client, cluster: Cluster) -> None:
    told = client.det("master", "info", "--json").json()
    master = cluster.get("/api/v1/master")
    assert {told[name] for name in ("clusterId", "masterId")} == {
        master["clusterId"],
        master["masterId"],
    }
    assert told["version"] == master["version"]


def test_the_masters_settings_are_shown_and_its_log_level_set(
    client: Client, cluster: Cluster
) -> None:
    told = client.det("master", "config", "show", "--json").json()
    assert told == cluster.get("/api/v1/master/config")["config"]
    assert told["port"] == cluster.port
    for level in ("ERROR", "INFO"):
        client.det("master", "config", "set", "--log.level", level)
        now = cluster.get("/api/v1/master/config")["config"]["log"]["level"]
        assert now == level.lower()


@pytest.mark.parametrize("form", ["--json", "--yaml"])
def test_the_printed_settings_are_a_file_that_a_master_reads(
    client: Client, tmp_path: Path, form: str
) -> None:
    file = tmp_path / "master.yaml"
    file.write_text(client.det("master", "config", "show", form).out)
    settings = load(["--config-file", str(file)], {"HOME": str(tmp_path)}, is_root=False)
    told = client.det("master", "config", "show", "--json").json()
    assert mask_secrets(settings.masked()) == {**told, "config_file": str(file)}


def test_the_masters_log_is_shown(client: Client, cluster: Cluster) -> None:
    answer = cluster.session().get("/api/v1/master/logs")
    entries = [json.loads(line)["result"]["logEntry"] for line in answer.text.splitlines()]
    all_of_it = client.det("master", "logs").out
    assert all(entry["message"] in all_of_it for entry in entries)
    assert "an agent joined" in all_of_it
    tail = client.det("master", "logs", "--tail", 1).out.strip()
    assert len(tail.splitlines()) == 1


def test_agents_are_listed(client: Client, cluster: Cluster) -> None:
    agents = {a["id"]: a for a in cluster.get("/api/v1/agents")["agents"]}
    rows = client.det("agent", "list", "--csv").rows()
    assert [row["Agent ID"] for row in rows] == sorted(agents)
    for row in rows:
        agent = agents[row["Agent ID"]]
        assert row["Version"] == agent["version"]
        assert row["Slots"] == str(len(agent["slots"]))
        assert row["Registered Time"] == shown(agent["registeredTime"])
        assert row["Resource Pool"] == ", ".join(agent["resourcePools"])
        assert row["Enabled"] == str(agent["enabled"])
    as_json = client.det("agent", "list", "--json").json()
    assert [a["id"] for a in as_json] == sorted(agents)


def test_slots_are_listed_free(client: Client, cluster: Cluster) -> None:
    def is_idle() -> bool:
        return not cluster.get("/api/v1/tasks")["allocationIdToSummary"]

    until(is_idle, what="an idle cluster")
    agents = cluster.get("/api/v1/agents")["agents"]
    devices = {(a["id"], s["id"]): s["device"] for a in agents for s in a["slots"].values()}
    rows = client.det("slot", "list", "--csv").rows()
    assert {(r["Agent ID"], r["Slot ID"]): r["Device"] for r in rows} == {
        key: device["brand"] for key, device in devices.items()
    }
    assert {row["Allocation ID"] for row in rows} == {"FREE"}
    assert len(client.det("slot", "list", "--json").json()) == len(devices)


def rows_of(client: Client, noun: str, id: str) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = client.det(noun, "list", "--csv").rows()
    return [row for row in rows if row["Agent ID"] == id]


def agent(cluster: Cluster, name: str) -> dict[str, Any]:
    found: dict[str, Any] = cluster.get(f"/api/v1/agents/{name}")["agent"]
    return found


@pytest.fixture
def everything_on(cluster: Cluster) -> Iterator[None]:
    yield
    for name in ("agent-0", "agent-1"):
        cluster.post(f"/api/v1/agents/{name}/enable")


def test_an_agent_is_disabled_drained_and_enabled(
    client: Client, cluster: Cluster, everything_on: None
) -> None:
    client.det("agent", "disable", "agent-0")
    [row] = rows_of(client, "agent", "agent-0")
    assert (row["Enabled"], row["Draining"]) == ("False", "False")
    assert rows_of(client, "slot", "agent-0")[0]["Enabled"] == "False"
    client.det("agent", "disable", "agent-0", "--drain")
    [row] = rows_of(client, "agent", "agent-0")
    assert (row["Enabled"], row["Draining"]) == ("False", "True")
    client.det("agent", "enable", "agent-0")
    assert rows_of(client, "agent", "agent-0")[0]["Enabled"] == "True"
    client.det("agent", "disable", "--all")
    assert not agent(cluster, "agent-0")["enabled"]
    assert not agent(cluster, "agent-1")["enabled"]
    client.det("agent", "enable", "--all")
    assert {row["Enabled"] for row in client.det("agent", "list", "--csv").rows()} == {"True"}
    assert "agent 'nobody' not found" in client.det("agent", "disable", "nobody", code=1).err


def test_a_drained_agent_continues_with_its_task_which_is_named(
    client: Client, cluster: Cluster, everything_on: None, endless: Path
) -> None:
    experiment = created(client.det("experiment", "create", endless, MODEL))
    [trial] = until(lambda: cluster.trials(experiment), what="a trial")

    def place() -> Any:
        found = cluster.get("/api/v1/tasks")["allocationIdToSummary"].values()
        own = (t for t in found if t["taskId"] == trial["taskId"])
        return next(((t, r) for t in own for r in t["resources"]), None)

    def is_running() -> bool:
        return bool(cluster.trials(experiment)[0]["state"] == "STATE_RUNNING")

    until(is_running, what="its start")
    task, resources = until(place, what="a task with slots")
    [name] = resources["agentDevices"]
    said = client.det("agent", "disable", name, "--drain", "--json")
    assert task["taskId"] in said.out
    rows = client.det("slot", "list", "--csv").rows()
    [busy] = [row for row in rows if row["Agent ID"] == name]
    assert busy["Allocation ID"] == task["allocationId"]
    assert is_running()
    client.det("agent", "disable", name)

    def is_elsewhere() -> bool:
        found = place()
        return found is not None and name not in found[1]["agentDevices"]

    until(is_elsewhere, what="the task on the other agent")
    client.det("experiment", "kill", experiment)
    cluster.wait(experiment)


def test_a_slot_is_disabled_and_enabled(
    client: Client, cluster: Cluster, everything_on: None
) -> None:
    client.det("slot", "disable", "agent-1", 0)
    [row] = rows_of(client, "slot", "agent-1")
    assert row["Enabled"] == "False"
    assert agent(cluster, "agent-1")["enabled"]
    client.det("slot", "enable", "agent-1", 0)
    assert rows_of(client, "slot", "agent-1")[0]["Enabled"] == "True"
    assert "slot '9' not found" in client.det("slot", "disable", "agent-1", 9, code=1).err
    said = client.det("slot", "enable", "nobody", 0, code=1).err
    assert "agent 'nobody' not found" in said
