"""Lists of experiments and runs through the API: filters, sorts, what mistakes answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from tests.api.client import Client
from tests.api.workspaces.test_projects import project as make_project
from tests.api.workspaces.test_projects import workspace
from tests.store.rows import STARTED, add_experiment, add_trial, end_trial

from determined_master.services.experiments.listing import lists as experiment_lists
from determined_master.store.db import Conn, Database
from determined_master.store.experiments import experiments
from determined_wire.rest.experiments import GetExperimentsRequestSortBy


def figures(value: float) -> dict[str, Any]:
    return {"last": value, "min": value, "max": value, "mean": value, "count": 1, "type": "number"}


@pytest.fixture
async def project(admin: Client, pool: Database) -> list[tuple[int, int]]:
    """Three experiments of one ended run each in project 1: ids of both."""
    made = []
    for n in range(1, 4):
        experiment = await add_experiment(
            pool,
            1,
            name=f"Name {n}",
            labels=["odd"] if n % 2 else ["even"],
            searcher_type="single",
            num_trials=1,
        )
        trial = await add_trial(
            pool,
            experiment,
            hparams={"lr": n / 10},
            summary_metrics={"validation_metrics": {"loss": figures(n)}},
        )
        for steps in (1, 2):
            await pool.execute(
                "INSERT INTO metrics (trial_id, metric_group, steps, run_id, reported_at, metrics)"
                " VALUES ($1, 'validation', $2, 0, $3, $4)",
                trial,
                steps,
                STARTED,
                {"loss": n + steps},
            )
        await end_trial(pool, trial)
        query = """
            UPDATE experiments SET state = 'COMPLETED', ended_at = $2, best_trial_id = $3,
                   best_metric = $4 WHERE id = $1
        """
        await pool.execute(query, experiment, STARTED, trial, float(n))
        made.append((experiment, trial))
    return made


def tree(column: str, operator: str, value: Any) -> str:
    field = {"kind": "field", "columnName": column, "operator": operator, "value": value}
    return json.dumps({"filterGroup": {"kind": "group", "children": [field]}})


async def listed(client: Client, query: str) -> list[int]:
    answer = await client("GET", f"/api/v1/experiments?{query}")
    assert answer.status == 200, answer.body
    found = answer.json()
    assert found["pagination"]["total"] >= len(found["experiments"])
    return [e["id"] for e in found["experiments"]]


async def test_experiments_are_filtered_by_each_parameter(
    admin: Client, project: list[tuple[int, int]]
) -> None:
    one, two, three = [experiment for experiment, _ in project]
    for query, expected in {
        "name=NAME%202": [two],
        "labels=odd": [one, three],
        "labels=odd&labels=even": [],
        "states=STATE_COMPLETED": [one, two, three],
        "states=STATE_ACTIVE": [],
        "users=admin": [one, two, three],
        "users=nobody": [],
        "userIds=1": [one, two, three],
        "projectId=7": [],
        "archived=true": [],
        f"experimentIdFilter.gt={one}": [two, three],
        f"experimentIdFilter.incl={three}": [three],
        f"experimentIdFilter.notIn={three}": [one, two],
        "description=x": [],
        "name=name&offset=-1": [three],
    }.items():
        assert await listed(admin, query) == expected, query


@pytest.mark.parametrize("parent", ["projects", "workspaces"])
async def test_experiments_are_archived_with_their_project_and_workspace(
    admin: Client, pool: Database, project: list[tuple[int, int]], parent: str
) -> None:
    one, two, three = [experiment for experiment, _ in project]
    space = await workspace(admin, "old")
    place = {"projects": await make_project(admin, space, "past"), "workspaces": space}
    move = "UPDATE experiments SET workspace_id = $2, project_id = $3 WHERE id = $1"
    await pool.execute(move, one, space, place["projects"])
    assert (await admin("POST", f"/api/v1/experiments/{three}/archive")).status == 200
    at = f"/api/v1/{parent}/{place[parent]}"
    for action, archived, others in (
        ("archive", [one, three], [two]),
        ("unarchive", [three], [one, two]),
    ):
        assert (await admin("POST", f"{at}/{action}")).status == 200
        assert await listed(admin, "archived=true") == archived
        assert await listed(admin, "archived=false") == others
        assert await listed(admin, "archived=false&sortBy=SORT_BY_USER") == others
        assert await listed(admin, "") == [one, two, three]


@pytest.mark.parametrize("sort", list(GetExperimentsRequestSortBy))
async def test_experiments_are_sorted_by_each_key(
    admin: Client, project: list[tuple[int, int]], sort: str
) -> None:
    expected = [experiment for experiment, _ in project]
    assert await listed(admin, f"sortBy={sort}") == expected
    assert await listed(admin, f"sortBy={sort}&orderBy=ORDER_BY_DESC") == expected[::-1]


async def test_pages_of_all_experiments_have_the_total_also_beyond_the_end(
    admin: Client, project: list[tuple[int, int]]
) -> None:
    one, two, three = [experiment for experiment, _ in project]
    for query, expected in {
        "limit=2": [one, two],
        "limit=2&offset=2": [three],
        "limit=2&orderBy=ORDER_BY_DESC": [three, two],
        "limit=-1&offset=1": [two, three],
        "offset=3": [],
        "offset=7": [],
    }.items():
        found = (await admin("GET", f"/api/v1/experiments?{query}")).json()
        assert [e["id"] for e in found["experiments"]] == expected, query
        assert found["pagination"]["total"] == 3, query


async def test_changed_items_of_a_list_are_rendered_a_few_at_a_time(
    admin: Client, project: list[tuple[int, int]], pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To show all of a long list at once would hold whoever else waits."""
    shown: list[int] = []
    list_versioned = experiments.list_versioned

    async def counting(conn: Conn, ids: Sequence[int]) -> Any:
        shown.append(len(ids))
        return await list_versioned(conn, ids)

    monkeypatch.setattr(experiments, "list_versioned", counting)
    monkeypatch.setattr(experiment_lists, "RENDERED_AT_ONCE", 2)
    for query in ("", "limit=50"):
        assert await listed(admin, query) == [experiment for experiment, _ in project]
    assert shown == [2, 1]
    await pool.execute("UPDATE users SET display_name = 'New'")
    answer = (await admin("GET", "/api/v1/experiments")).json()
    assert [e["displayName"] for e in answer["experiments"]] == ["New"] * 3
    assert shown == [2, 1, 2, 1]


async def test_a_search_among_experiments_brings_their_best_trials(
    admin: Client, project: list[tuple[int, int]]
) -> None:
    body = {"filter": tree("validation.loss.last", ">=", 2), "sort": "searcherMetricsVal=desc"}
    found = (await admin("POST", "/api/v1/experiments-search", body)).json()
    assert [(i["experiment"]["id"], i["bestTrial"]["id"]) for i in found["experiments"]] == (
        project[:0:-1]
    )
    assert found["experiments"][0]["experiment"]["bestTrialId"] == project[2][1]
    assert found["pagination"]["total"] == 2


async def test_a_search_of_runs_shows_local_ids_and_durations(
    admin: Client, project: list[tuple[int, int]]
) -> None:
    body = {"projectId": 1, "filter": tree("hp.lr", "<", 0.25), "sort": "hp.lr=desc"}
    found = (await admin("POST", "/api/v1/runs", body)).json()["runs"]
    assert [(r["id"], r["localId"], r["duration"]) for r in found] == [
        (project[1][1], "UNCAT-2", 60),
        (project[0][1], "UNCAT-1", 60),
    ]


@pytest.mark.parametrize("path", ["/api/v1/runs", "/api/v1/experiments-search"])
@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"filter": "{"}, "the filter is not JSON"),
        ({"filter": tree("id", "in", 1)}, "invalid operator in"),
        ({"filter": tree("zip", "=", 1)}, "column zip"),
        ({"sort": "zip"}, "invalid sort parameter: zip"),
        ({"sort": "zip=asc"}, "invalid sort col: zip"),
        ({"limit": -7}, "limit is -7"),
    ],
)
async def test_a_mistake_in_a_search_is_named(
    admin: Client, path: str, body: dict[str, Any], told: str
) -> None:
    answer = await admin("POST", path, body)
    assert answer.status == 400
    assert told in answer.text


async def test_columns_ranges_and_metadata_of_no_project_are_not_found(admin: Client) -> None:
    for path in ("columns", "experiments/metric-ranges", "metadata/a.b"):
        answer = await admin("GET", f"/api/v1/projects/99/{path}")
        assert (answer.status, answer.text) == (404, "project '99' not found")


async def test_columns_of_the_two_tables_differ(
    admin: Client, project: list[tuple[int, int]]
) -> None:
    columns = {}
    for table in ("EXPERIMENT", "RUN"):
        answer = await admin("GET", f"/api/v1/projects/1/columns?tableType=TABLE_TYPE_{table}")
        columns[table] = {c["column"]: c["location"] for c in answer.json()["columns"]}
    assert columns["RUN"]["hp.lr"] == "LOCATION_TYPE_RUN_HYPERPARAMETERS"
    assert columns["EXPERIMENT"]["hp.lr"] == "LOCATION_TYPE_HYPERPARAMETERS"
    assert columns["RUN"]["validation.loss.min"] == "LOCATION_TYPE_VALIDATIONS"
    assert "experimentName" not in columns["EXPERIMENT"]


async def test_a_sample_contains_the_series_of_the_best_trials(
    admin: Client, project: list[tuple[int, int]]
) -> None:
    experiment, trial = project[0]
    stream = f"/api/v1/experiments/{experiment}/metrics-stream/trials-sample"
    answer = await admin("GET", f"{stream}?metricName=loss&group=validation&maxTrials=3")
    [message] = [json.loads(line)["result"] for line in answer.body.splitlines()]
    [sampled] = message["trials"]
    assert (sampled["trialId"], sampled["hparams"]) == (trial, {"lr": 0.1})
    assert [(p["batches"], p["values"]) for p in sampled["data"]] == [
        (1, {"loss": 2}),
        (2, {"loss": 3}),
    ]
    assert (message["promotedTrials"], message["demotedTrials"]) == ([], [])


@pytest.mark.parametrize(
    ("query", "status", "told"),
    [
        ("trialIds=1", 400, "at least one metric"),
        ("trialIds=1&metricIds=loss", 400, "must have the form <group>.<name>"),
        ("trialIds=9&metricNames=loss", 404, "trial '9' not found"),
        ("metricNames=loss&maxDatapoints=100000", 400, "max_datapoints is 100000"),
    ],
)
async def test_a_mistake_about_a_series_is_named(
    admin: Client, query: str, status: int, told: str
) -> None:
    answer = await admin("GET", f"/api/v1/trials/time-series?{query}")
    assert answer.status == status
    assert told in answer.text
