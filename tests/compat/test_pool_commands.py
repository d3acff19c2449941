"""`det` 0.38.1 against our master: resource pools, and reports on usage."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from tests.compat.client import Client
from tests.compat.conftest import Finished
from tests.e2e.cluster import Cluster

pytestmark = [pytest.mark.compat, pytest.mark.slow, pytest.mark.xdist_group("compat")]


@pytest.fixture
def two_workspaces(client: Client) -> Iterator[None]:
    """For one test alone: others count what the cluster has."""
    names = ("bound-one", "bound-two")
    for name in names:
        client.det("workspace", "create", name)
    yield
    for name in names:
        client.det("workspace", "delete", name, "--yes")


@pytest.mark.usefixtures("two_workspaces")
def test_a_pool_is_bound_and_opened_again(client: Client, cluster: Cluster) -> None:
    bindings = ("resource-pool", "bindings")
    client.det(*bindings, "add", "rig", "bound-one")
    assert names_of(cluster) == ["bound-one"]
    shown = client.det("rp", "bindings", "list-workspaces", "rig").out
    assert "bound-one" in shown
    assert "bound-two" not in shown
    assert "rig" in client.det("workspace", "list-pools", "bound-one").out
    assert "rig" not in client.det("workspace", "list-pools", "bound-two").out
    client.det(*bindings, "replace", "rig", "bound-two")
    assert names_of(cluster) == ["bound-two"]
    client.det(*bindings, "remove", "rig", "bound-two")
    assert names_of(cluster) == []


def test_an_impossible_binding_is_reported(client: Client) -> None:
    bindings = ("resource-pool", "bindings")
    said = client.det(*bindings, "add", "default", "Uncategorized", code=1).err
    assert "default resource pool default cannot be bound to any workspace" in said
    said = client.det(*bindings, "add", "nowhere", "Uncategorized", code=1).err
    assert "pool with name nowhere doesn't exist" in said
    said = client.det(*bindings, "add", "rig", "nobody", code=1).err
    assert "the following workspaces do not exist: [nobody]" in said


def test_usage_is_reported(client: Client, finished: Finished) -> None:
    now = datetime.now(UTC)
    times = [f"{at:%Y-%m-%dT%H:%M:%SZ}" for at in (now - timedelta(1), now + timedelta(1))]
    rows = client.det("resources", "allocations", *times).rows()
    [mine] = [
        r for r in rows if r["experiment_id"] == str(finished.id) and r["task_type"] == "TRIAL"
    ]
    assert (mine["username"], mine["slots"]) == ("admin", "1")
    assert float(mine["slot_hours"]) > 0
    spans = client.det("resources", "raw", *times).rows()
    kinds = {s["kind"] for s in spans if s["experiment_id"] == str(finished.id)}
    assert {"training", "validation", "checkpointing"} <= kinds
    assert client.det("resources", "raw", *times, "--json").json() is not None
    day, month = f"{now:%Y-%m-%d}", f"{now:%Y-%m}"
    said = client.det("resources", "aggregated", day, day).out
    header, *sums = said.strip().splitlines()
    assert header == "aggregation_type,aggregation_key,date,seconds"
    assert sums == [] or datetime.now(UTC).date() > now.date(), "today is summed up tomorrow"
    client.det("resources", "aggregated", month, month, "--monthly")


def names_of(cluster: Cluster) -> list[str]:
    ids = cluster.get("/api/v1/resource-pools/rig/workspace-bindings")["workspaceIds"]
    return [cluster.get(f"/api/v1/workspaces/{i}")["workspace"]["name"] for i in ids]
