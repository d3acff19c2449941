"""`det` 0.38.1 against our master: config policies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.compat.client import MODEL, Client
from tests.e2e.cluster import Cluster

pytestmark = [pytest.mark.compat, pytest.mark.slow, pytest.mark.xdist_group("compat")]

LIMITS = "invariant_config:\n  max_restarts: 1\nconstraints:\n  resources:\n    max_slots: 1\n"
WORKSPACE = "old rules"


@pytest.fixture(scope="module")
def ruled(client: Client, cluster: Cluster, tmp_path_factory: Any) -> Iterator[Path]:
    """A workspace with a project, and a file of policies."""
    client.det("workspace", "create", WORKSPACE)
    client.det("project", "create", WORKSPACE, "p")
    path: Path = tmp_path_factory.mktemp("policies") / "limits.yaml"
    path.write_text(LIMITS)
    yield path
    client.det("workspace", "delete", WORKSPACE, "--yes")


def test_policies_of_a_workspace_are_set_shown_and_deleted(client: Client, ruled: Path) -> None:
    of = ("-w", WORKSPACE)
    client.det("config-policies", "set", "experiment", ruled, *of)
    told = client.det("config-policies", "describe", "experiment", *of, "--json").json()
    assert told == {
        "constraints": {"resources": {"max_slots": 1}},
        "invariant_config": {"max_restarts": 1},
    }
    assert "max_slots: 1" in client.det("config-policies", "describe", "experiment", *of).out
    client.det("config-policies", "delete", "experiment", *of)
    assert client.det("config-policies", "describe", "experiment", *of, "--json").json() == {}


def test_a_refusal_of_a_policy_reaches_the_user(client: Client, ruled: Path) -> None:
    client.det("config-policies", "set", "experiment", ruled, "-w", WORKSPACE)
    greedy = ruled.with_name("greedy.yaml")
    places = f"workspace: {WORKSPACE}\nproject: p\nresources: {{max_slots: 2}}\n"
    greedy.write_text((MODEL / "const.yaml").read_text() + places)
    said = client.det("experiment", "create", greedy, MODEL, code=1)
    assert "resources.max_slots 2 exceeds the limit of 1 slots" in said.err
    tasks = client.det("config-policies", "set", "tasks", ruled, "-w", WORKSPACE, code=1)
    assert "not supported for workload type NTSC" in tasks.err
    client.det("config-policies", "delete", "experiment", "-w", WORKSPACE)


def test_policies_of_the_cluster_for_tasks(client: Client, ruled: Path) -> None:
    limits = ruled.with_name("tasks.json")
    limits.write_text('{"constraints": {"priority_limit": 5}}')
    client.det("config-policies", "set", "tasks", limits)
    told = client.det("config-policies", "describe", "tasks", "--json").json()
    assert told == {"constraints": {"priority_limit": 5}}
    client.det("config-policies", "delete", "tasks")
