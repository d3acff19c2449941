"""`det resource-pool` and `det resources` against a cluster."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime, timedelta

import pytest
from tests.e2e.live.conftest import Person

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("live")]
live = pytest.mark.live


@live(
    "resource-pool bindings add",
    "resource-pool bindings list-workspaces",
    "resource-pool bindings remove",
    "resource-pool bindings replace",
)
def test_pools_are_listed_bound_and_opened_again(person: Person) -> None:
    [default] = [p for p in person.det("rp", "--json").json() if p["name"] == "default"]
    assert default["slotsAvailable"] == 2
    [row] = [r for r in person.det("resource-pool", "list", "--csv").rows()]
    assert (row["Name"], row["Slots"], row["Default For"]) == ("default", "2", "compute, aux")
    assert "default" in person.det("rp", "list").out
    for verb in ("add", "replace"):
        said = person.det("rp", "bindings", verb, "default", "Uncategorized", code=1).err
        assert "default resource pool default cannot be bound to any workspace" in said
    said = person.det("rp", "bindings", "remove", "default", "Uncategorized", code=1).err
    assert "does not exist" in said
    said = person.det("rp", "bindings", "list-workspaces", "nowhere", code=1).err
    assert "pool with name nowhere doesn't exist or is not available" in said
    assert "Workspace" in person.det("rp", "bindings", "list-workspaces", "default").out


@live("resources raw", "resources allocations", "resources aggregated")
def test_usage_is_reported(person: Person, finished_id: int) -> None:
    now = datetime.now(UTC)
    times = [f"{at:%Y-%m-%dT%H:%M:%SZ}" for at in (now - timedelta(hours=1), now + timedelta(1))]
    rows = list(csv.DictReader(io.StringIO(person.det("resources", "allocations", *times).out)))
    mine = [r for r in rows if r["experiment_id"] == str(finished_id) and r["slots"] == "1"]
    assert len(mine) == 2
    assert {r["task_type"] for r in mine} == {"TRIAL"}
    assert all(float(r["slot_hours"]) > 0 and r["end_time"] for r in mine)
    spans = person.det("res", "raw", *times, "--json").json()
    kinds = [s["kind"] for s in spans if s["experiment_id"] == str(finished_id)]
    assert {k: kinds.count(k) for k in kinds} == {
        "training": 6,
        "validation": 6,
        "checkpointing": 6,
    }
    header = person.det("res", "raw", *times).out.splitlines()[0]
    assert header == "experiment_id,kind,username,labels,slots,start_time,end_time,seconds"
    day, month = f"{now:%Y-%m-%d}", f"{now:%Y-%m}"
    header = "aggregation_type,aggregation_key,date,seconds\n"
    assert person.det("res", "agg", day, day).out == header  # today is summed up tomorrow
    assert person.det("res", "agg", month, month, "--monthly", "--json").json() == []
    said = person.det("res", "agg", month, month, code=1).err
    assert "a daily report takes YYYY-MM-DD" in said
