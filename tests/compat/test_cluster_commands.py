"""`det` 0.38.1 against our master: users, master, agents."""

from __future__ import annotations

import json

import pytest
from tests.compat.client import VERSION, Client, shown
from tests.e2e.cluster import PASSWORD, Cluster, until

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


def test_both_versions_are_told(client: Client, cluster: Cluster) -> None:
    said = client.det("version").out
    info = cluster.get("/info")
    assert f"version: {VERSION}" in said
    for name in ("version", "cluster_id", "master_id"):
        assert f"{name}: {info[name]}" in said


def test_the_master_tells_of_itself(client: Client, cluster: Cluster) -> None:
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
