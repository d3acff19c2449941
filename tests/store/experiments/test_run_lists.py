"""The narrow rows of runs, and what filters and sorts find by them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.covers import covers
from tests.store.rows import add_experiment, add_project, add_trial, end_trial

from determined_master.records.experiments import RunRow
from determined_master.services.experiments.listing.runs import Search
from determined_master.store.db import Database
from determined_master.store.experiments.run_lists import (
    RUNS,
    find_first_page,
    list_items,
    list_versioned,
)
from determined_master.store.experiments.search_query import EXPERIMENTS
from determined_master.store.listing.page import find_page
from determined_master.store.listing.sql import TableSql
from determined_master.store.workspaces.project_columns import (
    list_columns,
    list_ranges,
    list_words,
)


def figures(value: Any) -> dict[str, Any]:
    return {"count": 1, "last": value, "min": value, "max": value, "mean": value, "type": "number"}


def validation(**metrics: Any) -> dict[str, Any]:
    return {"validation_metrics": {name: figures(value) for name, value in metrics.items()}}


def where(column: str, operator: str, value: Any = None, *, archived: bool = False) -> str:
    field = {"kind": "field", "columnName": column, "operator": operator, "value": value}
    group = {"kind": "group", "conjunction": "and", "children": [field]}
    return json.dumps({"filterGroup": group, "showArchived": archived})


async def found(pool: Database, search: Search, table: TableSql = RUNS) -> list[int]:
    async with pool.acquire() as conn:
        wanted = search.parsed("run" if table is RUNS else "experiment", None)
        ids, page = await find_page(conn, table, wanted)
        first = await find_first_page(conn, wanted) if table is RUNS else None
    assert page.total >= len(ids)
    if first is not None:  # the short way finds the same
        assert ([row.id for row in first[0]], first[1]) == (ids, page)
    return ids


async def rows_of(pool: Database, ids: list[int]) -> list[RunRow]:
    async with pool.acquire() as conn:
        found = {row.id: (version, row) for version, row in await list_versioned(conn, ids)}
        listed = await list_items(conn, ids)
    assert [(row.id, row.version) for row in listed] == [(i, found[i][0]) for i in ids]
    return [found[i][1] for i in ids]


@pytest.mark.parametrize("sort", ["", "id=asc", "id=desc"])
async def test_the_short_way_to_the_first_page_finds_what_the_long_one_does(
    pool: Database, sort: str
) -> None:
    projects = [await add_project(pool, "ONE"), await add_project(pool, "TWO")]
    for project in projects:
        experiment = await add_experiment(pool, project)
        for _ in range(3):
            await add_trial(pool, experiment)
    hidden = await add_experiment(pool, projects[0])
    await add_trial(pool, hidden)
    await pool.execute("UPDATE experiments SET archived = true WHERE id = $1", hidden)
    shown = (
        '{"filterGroup":{"kind":"group","conjunction":"and","children":[]},"showArchived":true}'
    )
    for project_id in (None, *projects):
        for text in (None, shown):
            for offset, limit in ((0, 0), (1, 2), (2, 100)):
                await found(pool, Search(project_id, text, sort, offset, limit))
    async with pool.acquire() as conn:
        wanted = Search(None, shown, sort, 0, 3).parsed("run", None)
        first = await find_first_page(conn, wanted)
        assert first is not None
        assert first[1].total == 7
        for other in (
            Search(None, None, "startTime=asc"),
            Search(None, where("hp.lr", "=", 1)),
            Search(None, None, "", 100, 10),
        ):
            assert await find_first_page(conn, other.parsed("run", None)) is None
        assert await find_first_page(conn, Search().parsed("run", [1])) is None


async def test_runs_of_a_project_are_numbered_from_one(pool: Database) -> None:
    first, second = await add_project(pool, "ONE"), await add_project(pool, "TWO")
    for project in (first, second):
        experiment = await add_experiment(pool, project)
        await add_trial(pool, experiment)
        await add_trial(pool, experiment)
    ids = await found(pool, Search(second, sort="id=asc"))
    runs = await rows_of(pool, ids)
    assert [(run.project_key, run.number) for run in runs] == [("TWO", 1), ("TWO", 2)]


async def test_a_moved_experiment_takes_its_runs_and_their_values_along(pool: Database) -> None:
    old, new = await add_project(pool, "OLD"), await add_project(pool, "NEW")
    await add_trial(pool, await add_experiment(pool, new))
    experiment = await add_experiment(pool, old)
    trial = await add_trial(pool, experiment, hparams={"lr": 0.5})
    await pool.execute("UPDATE experiments SET project_id = $1 WHERE id = $2", new, experiment)
    assert await found(pool, Search(old)) == []
    assert await found(pool, Search(new, where("hp.lr", "=", 0.5))) == [trial]
    [run] = await rows_of(pool, [trial])
    assert (run.project_key, run.number) == ("NEW", 2)


async def test_runs_are_archived_with_their_experiment(pool: Database) -> None:
    project = await add_project(pool)
    experiment = await add_experiment(pool, project)
    trial = await add_trial(pool, experiment)
    await pool.execute("UPDATE experiments SET archived = true WHERE id = $1", experiment)
    assert await found(pool, Search(project, where("id", ">", 0))) == []
    assert await found(pool, Search(project, where("id", ">", 0, archived=True))) == [trial]
    await pool.execute("UPDATE experiments SET archived = false WHERE id = $1", experiment)
    assert await found(pool, Search(project, where("id", ">", 0))) == [trial]


async def test_deleting_a_trial_leaves_nothing_of_its_run(pool: Database) -> None:
    experiment = await add_experiment(pool, await add_project(pool))
    trial = await add_trial(pool, experiment, hparams={"lr": 1})
    await pool.execute("DELETE FROM trials WHERE id = $1", trial)
    assert await pool.fetchval("SELECT count(*) FROM runs") == 0
    assert await pool.fetchval("SELECT count(*) FROM run_values") == 0


async def test_metrics_are_found_while_a_run_continues_and_after_it(pool: Database) -> None:
    project = await add_project(pool)
    experiment = await add_experiment(pool, project)
    low = await add_trial(pool, experiment, summary_metrics=validation(loss=0.1))
    high = await add_trial(pool, experiment, summary_metrics=validation(loss=0.9))
    none = await add_trial(pool, experiment)
    column = "validation.loss.last"
    for _ in range(2):
        assert await found(pool, Search(project, where(column, "<", 0.5))) == [low]
        assert await found(pool, Search(project, sort=f"{column}=desc")) == [high, low, none]
        assert await found(pool, Search(project, where(column, "isEmpty"))) == [none]
        for trial in (low, none):
            await end_trial(pool, trial)


async def test_a_run_that_continues_again_has_only_its_new_metrics(pool: Database) -> None:
    project = await add_project(pool)
    trial = await add_trial(
        pool, await add_experiment(pool, project), summary_metrics=validation(loss=0.1)
    )
    await end_trial(pool, trial)
    again = "UPDATE trials SET ended_at = NULL, summary_metrics = $2 WHERE id = $1"
    await pool.execute(again, trial, validation(loss=0.7))
    assert await found(pool, Search(project, where("validation.loss.last", "<", 0.5))) == []
    assert await found(pool, Search(project, where("validation.loss.last", ">", 0.5))) == [trial]


async def test_not_a_number_meets_no_comparison(pool: Database) -> None:
    project = await add_project(pool)
    experiment = await add_experiment(pool, project)
    for value in ("NaN", "Infinity"):
        trial = await add_trial(pool, experiment, summary_metrics=validation(loss=value))
        await end_trial(pool, trial)
    column = "validation.loss.last"
    assert await found(pool, Search(project, where(column, ">", 1e300))) == [trial]
    assert await found(pool, Search(project, where(column, "<=", 1e300))) == []


async def test_the_searcher_metric_is_the_best_with_its_own_sign(pool: Database) -> None:
    project = await add_project(pool)
    larger = await add_experiment(pool, project, smaller_is_better=False)
    first, second = [await add_trial(pool, larger) for _ in range(2)]
    await pool.execute("UPDATE trials SET best_metric = -id WHERE experiment_id = $1", larger)
    assert await found(pool, Search(project, sort="searcherMetricsVal=desc")) == [second, first]
    assert await found(pool, Search(project, where("searcherMetricsVal", "=", first))) == [first]


@covers("experiment-config 4.flattened")
async def test_nested_hyperparameters_texts_and_metadata_are_columns(pool: Database) -> None:
    project = await add_project(pool)
    experiment = await add_experiment(pool, project)
    hparams = {"net": {"layers": 2, "act": "relu"}, "flag": True, "list": [1, 2]}
    one = await add_trial(pool, experiment, hparams=hparams)
    await add_trial(pool, experiment, hparams={"net": {"layers": 3, "act": "gelu"}})
    await pool.execute("UPDATE trials SET metadata = $2 WHERE id = $1", one, {"b": {"c": "x"}})
    for column, operator, value in [
        ("hp.net.layers", "=", 2),
        ("hp.net.act", "contains", "REL"),
        ("hp.net.act", "notContains", "gelu"),
        ("hp.flag", "=", "true"),
        ("metadata.b.c", "=", "x"),
        ("metadata.b.c", "notEmpty", None),
    ]:
        assert await found(pool, Search(project, where(column, operator, value))) == [one]
    await pool.execute("UPDATE trials SET metadata = $2 WHERE id = $1", one, {"b": {"c": "y"}})
    assert await found(pool, Search(project, where("metadata.b.c", "=", "x"))) == []
    async with pool.acquire() as conn:
        columns = {c.name: c.type for c in await list_columns(conn, project)}
        assert await list_words(conn, project, "metadata.b.c") == ["y"]
    assert columns == {
        "hp.flag": "TEXT",
        "hp.list": "ARRAY",
        "hp.net.act": "TEXT",
        "hp.net.layers": "NUMBER",
        "metadata.b.c": "TEXT",
    }


async def test_ranges_cover_runs_that_ended_and_runs_that_continue(pool: Database) -> None:
    project = await add_project(pool)
    experiment = await add_experiment(pool, project)
    for value in (0.25, 4, "NaN", "Infinity"):
        trial = await add_trial(pool, experiment, summary_metrics=validation(loss=value))
        await end_trial(pool, trial)
    await add_trial(pool, experiment, summary_metrics=validation(loss=-1))
    async with pool.acquire() as conn:
        ranges = {name: (low, high) for name, low, high in await list_ranges(conn, project)}
        names = [c.name for c in await list_columns(conn, project)]
    assert ranges["validation.loss.last"] == (-1, 4)
    assert names == [f"validation.loss.{figure}" for figure in ("last", "max", "mean", "min")]


async def test_a_group_named_as_a_summary_s_own_does_not_keep_a_run_from_ending(
    pool: Database,
) -> None:
    trial = await add_trial(
        pool,
        await add_experiment(pool, await add_project(pool)),
        summary_metrics={**validation(loss=1), "validation": {"loss": figures(2)}},
    )
    await end_trial(pool, trial)
    assert await pool.fetchval("SELECT state FROM runs WHERE id = $1", trial) == "COMPLETED"


async def test_experiments_are_found_by_their_best_trial_s_metric(pool: Database) -> None:
    project = await add_project(pool)
    good, bad, new = [await add_experiment(pool, project) for _ in range(3)]
    for experiment, value in ((good, 0.1), (bad, 0.9)):
        trial = await add_trial(
            pool, experiment, summary_metrics=validation(loss=value), hparams={"lr": value}
        )
        await pool.execute(
            "UPDATE experiments SET best_trial_id = $1 WHERE id = $2", trial, experiment
        )
    column = "validation.loss.last"
    searches = {
        (where(column, "<", 0.5), None): [good],
        (where(column, "isEmpty"), None): [new],
        (where("hp.lr", ">", 0.5), None): [bad],
        (None, f"{column}=desc"): [bad, good, new],
        (None, "hp.lr=asc"): [good, bad, new],
    }
    for (filter_, sort), expected in searches.items():
        assert await found(pool, Search(project, filter_, sort), EXPERIMENTS) == expected


@pytest.mark.parametrize(
    ("offset", "limit", "expected"),
    [(0, 2, [0, 1]), (3, 5, [3, 4]), (-2, 1, [3]), (99, 5, []), (1, -1, [1, 2, 3, 4])],
)
async def test_pages_of_a_filtered_list(
    pool: Database, offset: int, limit: int, expected: list[int]
) -> None:
    project = await add_project(pool)
    experiment = await add_experiment(pool, project)
    ids = [await add_trial(pool, experiment) for _ in range(5)]
    search = Search(project, where("state", "=", "RUNNING"), "id=asc", offset, limit)
    assert await found(pool, search) == [ids[i] for i in expected]


async def total(pool: Database, project: int | None, *, archived: bool = True) -> int:
    shown = json.dumps({"showArchived": archived})
    async with pool.acquire() as conn:
        _, page = await find_page(conn, RUNS, Search(project, shown).parsed("run", None))
    return page.total


async def test_totals_follow_runs_that_come_and_go_move_and_are_archived(pool: Database) -> None:
    old, new = await add_project(pool, "OLD"), await add_project(pool, "NEW")
    experiment, other = [await add_experiment(pool, old) for _ in range(2)]
    trials = [await add_trial(pool, experiment) for _ in range(3)]
    await add_trial(pool, other)
    archive = "UPDATE experiments SET archived = $2 WHERE id = $1"
    await pool.execute(archive, experiment, True)
    assert (await total(pool, old), await total(pool, old, archived=False)) == (4, 1)
    await add_trial(pool, experiment)
    await pool.execute("UPDATE experiments SET project_id = $2 WHERE id = $1", experiment, new)
    assert (await total(pool, old), await total(pool, old, archived=False)) == (1, 1)
    assert (await total(pool, new), await total(pool, new, archived=False)) == (4, 0)
    await pool.execute(archive, experiment, False)
    await pool.execute("DELETE FROM trials WHERE id = ANY ($1)", trials[:2])
    assert (await total(pool, new), await total(pool, new, archived=False)) == (2, 2)
    assert await total(pool, None) == 3


async def test_numbers_of_runs_that_are_gone_are_not_given_again(pool: Database) -> None:
    project = await add_project(pool, "PROJ")
    experiment = await add_experiment(pool, project)
    gone = await add_trial(pool, experiment)
    await pool.execute("DELETE FROM trials WHERE id = $1", gone)
    trial = await add_trial(pool, experiment)
    [run] = await rows_of(pool, [trial])
    assert run.number == 2


async def test_conditions_on_experiments_are_met_by_all_their_runs_and_no_others(
    pool: Database,
) -> None:
    project, other = await add_project(pool, "ONE"), await add_project(pool, "TWO")
    wanted = await add_experiment(pool, project, name="resnet 50", searcher_type="grid")
    runs = [await add_trial(pool, wanted) for _ in range(2)]
    await add_trial(pool, await add_experiment(pool, project, name="vgg"))
    await add_trial(pool, await add_experiment(pool, other, name="resnet 50"))
    assert await found(pool, Search(project, where("experimentName", "contains", "RES"))) == runs
    assert await found(pool, Search(project, where("searcherType", "=", "grid"))) == runs
    assert await found(pool, Search(project, where("experimentName", "=", "none"))) == []


async def test_a_lone_value_is_found_in_both_orders_and_page_by_page(pool: Database) -> None:
    project = await add_project(pool)
    experiment = await add_experiment(pool, project)
    runs = [await add_trial(pool, experiment, hparams={"lr": n}) for n in range(5)]
    low = where("hp.lr", "<", 4)
    assert await found(pool, Search(project, low)) == runs[:4]
    assert await found(pool, Search(project, low, "id=desc", 1, 2)) == [runs[2], runs[1]]
    assert await found(pool, Search(project, low, "id=asc", -2, 1)) == [runs[2]]
    assert await found(pool, Search(project, low, "id=asc", 9, 1)) == []
    await pool.execute("UPDATE experiments SET archived = true WHERE id = $1", experiment)
    assert await found(pool, Search(project, low)) == []


async def test_a_name_too_long_for_a_column_does_not_keep_a_run_from_ending(
    pool: Database,
) -> None:
    trial = await add_trial(
        pool,
        await add_experiment(pool, await add_project(pool)),
        hparams={"n" * 5000: 1, "lr": 2},
        summary_metrics=validation(**{"m" * 9000: 1.0}),
    )
    await end_trial(pool, trial)
    names = await pool.fetch("SELECT name FROM run_columns")
    assert [row["name"] for row in names] == ["hp.lr"]
