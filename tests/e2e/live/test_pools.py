"""`det resource-pool` and `det resources` against a cluster."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime, timedelta

import pytest
from tests.e2e.live.conftest import SINGLE, Person

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("live")]
live = pytest.mark.live


@live(
    "resource-pool bindings add",
    "resource-pool bindings list-workspaces",
    "resource-pool bindings remove",
    "resource-pool bindings replace",
)
def test_pools_are_listed_bound_and_opened_again(person: Person) -> None:
    found = {p["name"]: p for p in person.det("rp", "list", "--json").json()}
    assert (found["default"]["slotsAvailable"], found["lab"]["slotsAvailable"]) == (2, 0)
    rows = {r["Name"]: r for r in person.det("resource-pool", "list", "--csv").rows()}
    assert (rows["default"]["Slots"], rows["default"]["Default For"]) == ("2", "compute, aux")
    assert rows["lab"]["Default For"] == ""
    assert "lab" in person.det("rp", "list").out
    for name in ("ours", "theirs"):
        person.det("w", "create", name)
    person.det("rp", "bindings", "add", "lab", "ours")
    assert bound(person) == ["ours"]
    said = person.det("rp", "bindings", "add", "lab", "ours", code=1).err
    assert "already bound" in said
    assert open_to(person, "ours") == ["default", "lab"]
    assert open_to(person, "theirs") == ["default"]
    inside = SINGLE + "resources: {resource_pool: lab, slots_per_trial: 1}\n"
    refused = person.det("e", "create", person.file(inside), code=1).err
    assert "resource pool lab does not exist or is not available to workspace id 1" in refused
    person.det("rp", "bindings", "replace", "lab", "theirs", "ours")
    assert bound(person) == ["ours", "theirs"]
    person.det("rp", "bindings", "remove", "lab", "ours", "theirs")
    assert bound(person) == []
    said = person.det("rp", "bindings", "remove", "lab", "ours", code=1).err
    assert "does not exist" in said
    said = person.det("rp", "bindings", "add", "default", "ours", code=1).err
    assert "default resource pool default cannot be bound to any workspace" in said
    said = person.det("rp", "bindings", "list-workspaces", "nowhere", code=1).err
    assert "pool with name nowhere doesn't exist or is not available" in said


def open_to(person: Person, workspace: str) -> list[str]:
    return last_cell(person.det("w", "list-pools", workspace).out)


def bound(person: Person) -> list[str]:
    return last_cell(person.det("rp", "bindings", "list-workspaces", "lab").out)


def last_cell(table: str) -> list[str]:
    """The names in a table's only row."""
    [row] = table.splitlines()[2:]
    told = row.rpartition("|")[2].strip()
    return told.split(", ") if told else []


@live("resources raw", "resources allocations", "resources aggregated")
def test_usage_is_reported(person: Person, finished_id: int) -> None:
    now = datetime.now(UTC)
    times = [f"{at:%Y-%m-%dT%H:%M:%SZ}" for at in (now - timedelta(1), now + timedelta(1))]
    rows = list(csv.DictReader(io.StringIO(person.det("resources", "allocations", *times).out)))
    mine = [r for r in rows if r["experiment_id"] == str(finished_id) and r["slots"] == "1"]
    assert len(mine) == 2
    assert {r["task_type"] for r in mine} == {"TRIAL"}
    assert all(float(r["slot_hours"]) > 0 and r["end_time"] for r in mine)
    spans = person.det("res", "raw", *times, "--json").json()["resourceEntries"]
    kinds = [s["kind"] for s in spans if s["experimentId"] == finished_id]
    assert {k: kinds.count(k) for k in kinds} == {
        "training": 6,
        "validation": 6,
        "checkpointing": 6,
    }
    header = person.det("res", "raw", *times).out.splitlines()[0]
    assert header == "experiment_id,kind,username,labels,slots,start_time,end_time,seconds"
    day, month = f"{now:%Y-%m-%d}", f"{now:%Y-%m}"
    header = "aggregation_type,aggregation_key,date,seconds\n"
    told = person.det("res", "agg", day, day).out
    months = person.det("res", "agg", month, month, "--monthly", "--json").json()
    assert told.startswith(header)
    if datetime.now(UTC).date() == now.date():  # today is summed up tomorrow
        assert (told, months) == (header, {"resourceEntries": []})
    said = person.det("res", "agg", month, month, code=1).err
    assert "a daily report takes YYYY-MM-DD" in said
