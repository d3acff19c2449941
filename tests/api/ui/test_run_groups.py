"""Runs in groups of equal values, asked for through the API."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.api.client import Client
from tests.api.hidden import ok
from tests.store.rows import add_experiment, add_project, add_trial, end_trial

from determined_master.domain.listing.groups import MAX_GROUPS
from determined_master.store.db import Database

pytestmark = pytest.mark.slow

PATH = "/api/ui/v1/runs/groups"


async def add_run(pool: Database, experiment: int, hparams: Any, loss: Any, *, ends: bool) -> int:
    """A run whose validation loss was `loss` throughout."""
    figures = {"last": loss, "min": loss, "max": loss, "mean": loss, "count": 1, "type": "number"}
    summary = {} if loss is None else {"validation_metrics": {"loss": figures}}
    trial = await add_trial(pool, experiment, hparams=hparams, summary_metrics=summary)
    if ends:
        await end_trial(pool, trial)
    return trial


async def groups(client: Client, project: int, by: str, *columns: str, **more: Any) -> Any:
    body = {"projectId": project, "by": by, "columns": list(columns), **more}
    return await ok(client, "POST", PATH, body)


async def test_figures_are_of_ended_and_of_running_runs(user: Client, pool: Database) -> None:
    project = await add_project(pool)
    experiment = await add_experiment(pool, project)
    for lr, loss, ends in ((0.1, 1.0, True), (0.1, 3.0, False), (0.1, None, True), (2, 5.0, True)):
        await add_run(pool, experiment, {"lr": lr}, loss, ends=ends)
    await add_run(pool, experiment, {}, 7.0, ends=True)

    found = await groups(user, project, "hp.lr", "validation.loss.last", "hp.lr")

    assert (found["total"], found["runs"]) == (3, 5)
    first, second, third = found["groups"]
    assert (first["number"], first["text"], first["runs"]) == (0.1, None, 3)
    loss, lr = first["figures"]
    assert loss == {
        "column": "validation.loss.last",
        "n": 2,
        "mean": 2,
        "std": pytest.approx(2**0.5),
        "min": 1,
        "max": 3,
    }
    assert (lr["column"], lr["n"], lr["min"], lr["max"]) == ("hp.lr", 3, 0.1, 0.1)
    rest = {group["number"]: group for group in (second, third)}
    assert rest[2]["figures"][0]["std"] is None
    assert (rest[None]["text"], rest[None]["figures"][0]["mean"]) == (None, 7)


async def test_groups_are_those_that_the_filter_of_one_group_finds(
    user: Client, pool: Database
) -> None:
    project = await add_project(pool)
    odd = await add_experiment(pool, project, labels=["a", "b"], name="x", searcher_type="single")
    even = await add_experiment(pool, project, name="y")
    for experiment in (odd, even, even):
        await add_run(pool, experiment, {"kind": "sgd"}, 1.0, ends=experiment == odd)
    for by, expected in {
        "tags": {"a,b": 1, None: 2},
        "state": {"COMPLETED": 1, "ACTIVE": 2},
        "experimentName": {"x": 1, "y": 2},
        "hp.kind": {"sgd": 3},
        "searcherType": {"single": 1, "random": 2},
    }.items():
        found = await groups(user, project, by)
        texts = {group["text"]: group["runs"] for group in found["groups"]}
        assert texts == expected, by
        for text, count in texts.items():
            field = {"kind": "field", "columnName": by, "operator": "=", "value": text}
            if text is None:
                field = {"kind": "field", "columnName": by, "operator": "isEmpty"}
            tree = {"filterGroup": {"kind": "group", "children": [field]}, "showArchived": True}
            body = {"projectId": project, "filter": json.dumps(tree)}
            listed = await ok(user, "POST", "/api/v1/runs", body)
            assert listed["pagination"]["total"] == count, (by, text)
    by_search = await groups(user, project, "experimentId", "duration", "searcherMetricsVal")
    assert {g["number"]: g["runs"] for g in by_search["groups"]} == {odd: 1, even: 2}
    assert by_search["groups"][1]["figures"][0]["column"] == "duration"
    assert by_search["groups"][1]["figures"][0]["mean"] == 60


async def test_a_filter_narrows_the_groups(user: Client, pool: Database) -> None:
    project = await add_project(pool)
    experiment = await add_experiment(pool, project)
    for lr, loss in ((1, 1.0), (1, 9.0), (2, 9.0)):
        await add_run(pool, experiment, {"lr": lr}, loss, ends=True)
    field = {
        "kind": "field",
        "columnName": "validation.loss.last",
        "type": "COLUMN_TYPE_NUMBER",
        "operator": "<",
        "value": 5,
    }
    tree = json.dumps({"filterGroup": {"kind": "group", "children": [field]}})
    found = await groups(user, project, "hp.lr", filter=tree)
    assert [(g["number"], g["runs"]) for g in found["groups"]] == [(1, 1)]
    none = await groups(user, project, "hp.nothing")
    assert [(g["number"], g["text"], g["runs"]) for g in none["groups"]] == [(None, None, 3)]


async def test_infinite_values_are_counted(user: Client, pool: Database) -> None:
    project = await add_project(pool)
    experiment = await add_experiment(pool, project)
    for loss in (1.0, "Infinity", "NaN"):
        await add_run(pool, experiment, {}, loss, ends=True)
    found = await groups(user, project, "user", "validation.loss.last")
    (figures,) = found["groups"][0]["figures"]
    assert (figures["n"], figures["mean"], figures["min"]) == (2, "Infinity", 1)


async def test_the_largest_groups_are_kept(user: Client, pool: Database) -> None:
    project = await add_project(pool)
    experiment = await add_experiment(pool, project)
    query = """
        INSERT INTO trials (experiment_id, request_id, task_id, state, hparams, seed, started_at)
        SELECT $1, gen_random_uuid(), 'group-' || n, 'ACTIVE',
               jsonb_build_object('n', greatest(n, 5)), 1, now()
          FROM generate_series(1, $2) AS n
    """
    await pool.execute(query, experiment, MAX_GROUPS + 10)
    found = await groups(user, project, "hp.n")
    assert (found["total"], found["runs"]) == (MAX_GROUPS + 6, MAX_GROUPS + 10)
    assert len(found["groups"]) == MAX_GROUPS
    assert (found["groups"][0]["number"], found["groups"][0]["runs"]) == (5, 5)


async def test_a_wrong_column_is_named(user: Client) -> None:
    answer = await user("POST", PATH, {"projectId": 1, "by": "duration"})
    assert answer.status == 400
    assert "trials cannot be grouped by duration" in answer.json()["error"]["error"]
