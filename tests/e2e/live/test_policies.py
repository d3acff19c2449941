"""`det config-policies` against a cluster."""

from __future__ import annotations

import pytest
from tests.e2e.live.conftest import SINGLE, Person

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("live")]
live = pytest.mark.live

LIMITS = """\
invariant_config:
  max_restarts: 1
constraints:
  resources: {max_slots: 1}
  priority_limit: 40
"""
MANY = SINGLE + "resources: {max_slots: 2}\n"


@live("config-policies set", "config-policies describe", "config-policies delete")
def test_a_workspaces_policies_live_and_hold(person: Person) -> None:
    person.det("w", "create", "ruled")
    person.det("p", "create", "ruled", "p")
    of = ("-w", "ruled")
    said = person.det("config-policies", "set", "experiment", person.file(LIMITS), *of).out
    assert said.startswith("Set experiment config policies for workspace 'ruled':\n")
    told = person.det("cp", "describe", "experiment", *of).out
    assert "priority_limit: 40" in told
    assert told == person.det("cp", "describe", "experiment", *of, "--yaml").out
    shown = person.det("cp", "describe", "experiment", *of, "--json").json()
    assert shown["invariant_config"] == {"max_restarts": 1}
    to_host_path = "workspace: ruled\nproject: p\n"
    refused = person.det("e", "create", person.file(MANY + to_host_path), code=1).err
    assert "resources.max_slots 2 exceeds the limit of 1 slots" in refused
    assert "workspace 'ruled'" in refused
    number = person.create(SINGLE + to_host_path + "description: ruled\n", "", "--paused")
    config = person.cluster.get(f"/api/v1/experiments/{number}")["config"]
    assert config["max_restarts"] == 1
    urgent = person.det("e", "set", "priority", number, 39, code=1).err
    assert "priority constraint" in urgent
    person.det("e", "kill", number)
    deleted = person.det("cp", "delete", "experiment", *of).out
    assert deleted == "Deleted experiment config policies of workspace 'ruled'\n"
    none = person.det("cp", "describe", "experiment", *of).out
    assert none == "No experiment config policies are set for workspace 'ruled'\n"
    assert "are specified" in person.det("cp", "delete", "experiment", *of, code=1).err


@live("config-policies set", "config-policies describe", "config-policies delete")
def test_the_clusters_policies_for_tasks_live_apart(person: Person) -> None:
    limits = person.file("constraints: {resources: {max_slots: 3}}")
    person.det("cp", "set", "tasks", limits)
    told = person.det("cp", "describe", "tasks", "--json").json()
    assert told == {"constraints": {"resources": {"max_slots": 3}}}
    assert person.det("cp", "describe", "experiment", "--json").json() == {}
    wrong = person.det("cp", "set", "tasks", person.file(LIMITS), code=1).err
    assert "not supported for workload type NTSC" in wrong
    missing = person.det("cp", "set", "tasks", person.folder / "gone.yaml", code=1).err
    assert "gone.yaml': No such file" in missing
    person.det("cp", "delete", "tasks")
    assert person.det("cp", "describe", "tasks", "--json").json() == {}
