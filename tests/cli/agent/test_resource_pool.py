"""`det resource-pool` and `det resources`: their requests and their output."""

from __future__ import annotations

import json

import pytest
from tests.cli import canned
from tests.cli.conftest import Det
from tests.cli.fake_master import FakeMaster

BINDINGS = "/api/v1/resource-pools/a%20b/workspace-bindings"
POOL = {
    "name": "gpus",
    "description": "large",
    "numAgents": 2,
    "slotsAvailable": 8,
    "slotsUsed": 3,
    "slotType": "TYPE_CUDA",
    "auxContainersRunning": 1,
    "auxContainerCapacity": 200,
    "schedulerType": "SCHEDULER_TYPE_PRIORITY",
    "defaultComputePool": True,
    "defaultAuxPool": False,
    "stats": {"queuedCount": 4, "scheduledCount": 2},
}


def test_list_prints_one_row_per_pool(det: Det, master: FakeMaster) -> None:
    page = canned.page("resourcePools", POOL)
    master.routes[("GET", "/api/v1/resource-pools")] = (200, page)
    header, row = det("rp", "list", "--csv").out.splitlines()
    assert header.startswith("Name,Agents,Slots,Used,Slot Type")
    assert row == "gpus,2,8,3,cuda,1/200,priority,compute,4,2,,,,,,large"
    assert json.loads(det("rp", "list", "--json").out) == [POOL]


@pytest.mark.parametrize(
    ("price", "shown"),
    [({}, ""), ({"pricePerHour": 0.526}, "0.53"), ({"pricePerHour": 0}, "0.00")],
)
def test_list_has_the_machines_of_a_pool_on_demand(
    det: Det, master: FakeMaster, price: dict[str, float], shown: str
) -> None:
    machines = {"instanceType": "g4dn.xlarge", "minAgents": 1, "maxAgents": 5, "costPerHour": 1.5}
    page = canned.page("resourcePools", {**POOL, **machines, **price})
    master.routes[("GET", "/api/v1/resource-pools")] = (200, page)
    header, row = det("rp", "list", "--csv").out.splitlines()
    assert "Machine Type,Min Machines,Max Machines,USD/Hour,Cost/Hour Now" in header
    assert row.endswith(f",g4dn.xlarge,1,5,{shown},1.50,large")


def test_a_pool_whose_cluster_starts_no_pods_is_named_below_the_list(
    det: Det, master: FakeMaster
) -> None:
    trouble = {"trouble": "the API server of k8s does not answer"}
    since = {"troubleSince": "2026-01-30T10:20:30.123Z"}
    page = canned.page("resourcePools", {**POOL, **trouble, **since})
    master.routes[("GET", "/api/v1/resource-pools")] = (200, page)
    said = det("rp", "list")
    line = "gpus: the API server of k8s does not answer since 2026-01-30 10:20:30+0000"
    assert said.err.strip() == line


OFFERS = "/api/v1/resource-pools/gpus/offers"
FOUND = {
    "resourcePoolName": "gpus",
    "slots": 4,
    "slotsPerMachine": 1,
    "machines": 4,
    "maxMachines": 8,
    "offers": [
        {
            "machineType": "g5.xlarge",
            "accelerator": "",
            "place": "subnet-1",
            "market": "spot",
            "pricePerHour": 0.453,
            "totalPerHour": 1.812,
            "leftOut": "",
        },
        {
            "machineType": "n1-standard-8",
            "accelerator": "1 x T4",
            "place": "",
            "market": "on-demand",
            "leftOut": "no room",
            "leftOutUntil": "2026-01-31T10:00:00Z",
        },
    ],
    "problem": "",
}


def test_offers_are_printed_in_the_order_of_launches(det: Det, master: FakeMaster) -> None:
    master.routes[("GET", OFFERS)] = (200, FOUND)
    header, first, second = det("rp", "offers", "gpus", "--slots", "4", "--csv").out.splitlines()
    assert header.startswith("Machine Type,Place,Market,USD/Hour,Machines,Total USD/Hour,Left Out")
    assert first == "g5.xlarge,subnet-1,spot,0.45,4,1.81,,"
    assert second.startswith("n1-standard-8 with 1 x T4,,on-demand,,4,,no room,")
    assert json.loads(det("rp", "offers", "gpus", "--json").out) == FOUND


def test_a_problem_of_all_offers_is_printed_below_them(det: Det, master: FakeMaster) -> None:
    text = "9 slots need 9 machines, more than max_instances (8)"
    master.routes[("GET", OFFERS)] = (200, {**FOUND, "problem": text})
    out = det("resource-pool", "offers", "gpus", "--slots", "9").out
    assert f"No machine would start: {text}" in out


@pytest.mark.parametrize(
    ("verb", "method"), [("add", "POST"), ("remove", "DELETE"), ("replace", "PUT")]
)
def test_bindings_are_sent_by_workspace_name(
    det: Det, master: FakeMaster, verb: str, method: str
) -> None:
    master.routes[(method, BINDINGS)] = (200, {})
    out = det("resource-pool", "bindings", verb, "a b", "one", "two").out
    assert "'a b'" in out
    assert "'one', 'two'" in out
    [call] = master.made(method, BINDINGS)
    assert call.json == {"resourcePoolName": "a b", "workspaceNames": ["one", "two"]}


def test_workspaces_of_a_pool_are_listed_by_name(det: Det, master: FakeMaster) -> None:
    master.routes[("GET", BINDINGS)] = (200, canned.page("workspaceIds", 7, 8))
    named = canned.page("workspaces", {"id": 7, "name": "seven"}, {"id": 9, "name": "nine"})
    master.routes[("GET", "/api/v1/workspaces")] = (200, named)
    out = det("rp", "bindings", "list-workspaces", "a b").out
    assert [cell.strip() for cell in out.splitlines()[2].split("|")] == ["a b", "seven"]


@pytest.mark.parametrize(
    ("words", "path", "query"),
    [
        (("raw", "A", "B"), "raw", {"timestamp_after": ["A"], "timestamp_before": ["B"]}),
        (
            ("raw", "2026-11-29", "2026-11-30T12:00:00Z"),
            "raw",
            {
                "timestamp_after": ["2026-11-29T00:00:00Z"],
                "timestamp_before": ["2026-11-30T12:00:00Z"],
            },
        ),
        (
            ("allocations", "A", "B"),
            "allocations-csv",
            {"timestamp_after": ["A"], "timestamp_before": ["B"]},
        ),
        (
            ("agg", "A", "B"),
            "aggregated",
            {"start_date": ["A"], "end_date": ["B"]}
            | {"period": ["RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY"]},
        ),
        (
            ("aggregated", "A", "B", "--monthly"),
            "aggregated",
            {"start_date": ["A"], "end_date": ["B"]}
            | {"period": ["RESOURCE_ALLOCATION_AGGREGATION_PERIOD_MONTHLY"]},
        ),
    ],
)
def test_reports_are_printed_unchanged(
    det: Det, master: FakeMaster, words: tuple[str, ...], path: str, query: dict[str, list[str]]
) -> None:
    text = "key,seconds\nä,1\n"
    master.routes[("GET", f"/resources/allocation/{path}")] = (200, text.encode())
    assert det("resources", *words).out == text
    [call] = master.made("GET", f"/resources/allocation/{path}")
    assert call.query == query


def test_a_json_report_is_the_masters_answer(det: Det, master: FakeMaster) -> None:
    entries = {"resourceEntries": [{"kind": "training", "labels": ["a,b"]}]}
    master.routes[("GET", "/api/v1/resources/allocation/raw")] = (200, entries)
    assert json.loads(det("res", "raw", "A", "B", "--json").out) == entries


def test_costs_are_printed_with_those_of_idle_machines(det: Det, master: FakeMaster) -> None:
    found = {
        "entries": [
            {"key": "ada", "slotHours": 6.0, "cost": 7.125, "unpricedSlotHours": 0.0},
            {"key": "bob", "slotHours": 1.0, "unpricedSlotHours": 1.0},
        ],
        "machinesCost": 40.0,
    }
    master.routes[("GET", "/api/v1/resources/costs")] = (200, found)
    window = ("2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z")
    out = det("resources", "costs", *window).out
    assert "All machines, also while idle: 40.00 USD" in out
    rows = det("resources", "costs", *window, "--by", "workspace", "--csv").out.splitlines()
    assert rows == [
        "Workspace,Slot Hours,Cost (USD),Slot Hours Without Price",
        "ada,6.00,7.12,0.00",
        "bob,1.00,,1.00",
    ]
    assert json.loads(det("resources", "costs", *window, "--json").out) == found


@pytest.mark.parametrize("has_price", [True, False])
def test_jobs_are_listed_with_the_cost_of_their_slots(
    det: Det, master: FakeMaster, has_price: bool
) -> None:
    master.routes[("GET", "/api/v1/resource-pools")] = (200, canned.page("resourcePools", POOL))
    job = {
        "jobId": "1f6",
        "type": "TYPE_EXPERIMENT",
        "name": "mnist",
        "entityId": "7",
        "priority": 42,
        "weight": 1,
        "allocatedSlots": 2,
        "requestedSlots": 2,
        "username": "ada",
        "summary": {"state": "STATE_SCHEDULED", "jobsAhead": 0},
    }
    more = {"costPerHour": 1.5} if has_price else {}
    page = canned.page("jobs", {"full": {**job, **more}})
    master.routes[("GET", "/api/v1/job-queues-v2")] = (200, page)
    out = det("job", "list").out
    assert "mnist (7)" in out
    assert ("USD/Hour" in out) == has_price
    assert ("1.50" in out) == has_price
