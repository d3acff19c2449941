"""Filters and sorts as SQL say of random rows what a plain reading of them says."""

from __future__ import annotations

import math
import operator
import random
from collections.abc import Mapping
from typing import Any

import pytest
from tests.store.rows import add_experiment, add_project, add_trial, end_trial

from determined_master.domain.listing.filters import Condition, Filter, Group, Sort
from determined_master.store.db import Database
from determined_master.store.experiments.run_lists import RUNS
from determined_master.store.listing.page import ListQuery, find_page
from determined_master.store.listing.sql import Composed

pytestmark = pytest.mark.slow

Row = Mapping[str, Any]
NUMBERS = (0.0, 0.25, 1.0, 1.5, -3.0, math.inf, -math.inf)
WORDS = ("relu", "RELU", "gelu", "a%b", "", "ü_\\")
COLUMNS = {
    "id": "NUMBER",
    "checkpointCount": "NUMBER",
    "searcherMetricsVal": "NUMBER",
    "forkedFrom": "NUMBER",
    "experimentName": "TEXT",
    "tags": "TEXT",
    "state": "TEXT",
    "logPolicyMatched": "TEXT",
    "hp.lr": "NUMBER",
    "hp.act": "TEXT",
    "metadata.note": "TEXT",
    "validation.loss.last": "NUMBER",
    "custom/g.x.y.max": "NUMBER",
    "hp.nobody": "NUMBER",
}
COMPARE = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def holds(node: Group | Condition, row: Row) -> bool:
    if isinstance(node, Group):
        results = [holds(child, row) for child in node.children]
        return not results or (all(results) if node.conjunction == "and" else any(results))
    value, asked = row.get(node.column), node.value
    is_own_text = node.type == "TEXT" and "." not in node.column
    if node.operator in ("isEmpty", "notEmpty"):
        is_empty = value is None or (is_own_text and value == "")
        return is_empty is (node.operator == "isEmpty")
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return False
    if node.operator == "contains":
        return asked.lower() in value.lower()
    if node.operator == "notContains":
        return asked.lower() not in value.lower()
    return bool(COMPARE[node.operator](value, asked))


def random_tree(draw: random.Random, ids: list[int], depth: int = 0) -> Group:
    children: list[Group | Condition] = []
    for _ in range(draw.randint(0 if depth else 1, 3)):
        if depth < 3 and draw.random() < 0.3:
            children.append(random_tree(draw, ids, depth + 1))
        else:
            children.append(random_condition(draw, ids))
    return Group(draw.choice(["and", "or"]), tuple(children))


def random_condition(draw: random.Random, ids: list[int]) -> Condition:
    column = draw.choice(list(COLUMNS))
    type_: Any = COLUMNS[column]
    choices = [*COMPARE, "isEmpty", "notEmpty"]
    if type_ == "TEXT":
        choices += ["contains", "notContains"]
    chosen: Any = draw.choice(choices)
    if chosen in ("isEmpty", "notEmpty"):
        return Condition(column, chosen, type_)
    value: Any = draw.choice(NUMBERS)
    if column == "id":
        value = float(draw.choice(ids))
    elif column == "state":
        value = draw.choice(["ACTIVE", "COMPLETED"])
    elif type_ == "TEXT":
        value = draw.choice([*WORDS, "e", "lu"]) or "r"
    return Condition(column, chosen, type_, value)


def as_json(value: float) -> Any:
    if math.isnan(value):
        return "NaN"
    return value if math.isfinite(value) else "Infinity" if value > 0 else "-Infinity"


def sometimes(draw: random.Random, value: Any) -> Any:
    return value if draw.random() < 0.75 else None


async def random_rows(pool: Database, project: int, draw: random.Random) -> list[Row]:
    found = []
    for _ in range(6):
        experiment_row = {
            "name": draw.choice(WORDS),
            "labels": draw.sample(WORDS[:4], draw.randint(0, 2)),
            "forked_from": sometimes(draw, draw.randint(0, 2)),
        }
        experiment = await add_experiment(pool, project, **experiment_row)
        for _ in range(draw.randint(1, 8)):
            found.append(await random_run(pool, experiment, experiment_row, draw))
    return found


async def random_run(pool: Database, experiment: int, of: Row, draw: random.Random) -> Row:
    values = {
        "hp.lr": sometimes(draw, draw.choice([*NUMBERS, math.nan])),
        "hp.act": sometimes(draw, draw.choice(WORDS)),
        "metadata.note": sometimes(draw, draw.choice(WORDS)),
        "validation.loss.last": sometimes(draw, draw.choice([*NUMBERS, math.nan])),
        "custom/g.x.y.max": sometimes(draw, draw.choice(NUMBERS)),
    }
    own = {
        "checkpoint_count": draw.randint(0, 2),
        "best_metric": sometimes(draw, draw.choice(NUMBERS[:5])),
        "log_policy_matched": sometimes(draw, draw.choice(WORDS)),
    }
    note, lr, act = values["metadata.note"], values["hp.lr"], values["hp.act"]
    hparams = {"lr": None if lr is None else as_json(lr), "act": act}
    summary: dict[str, Any] = {}
    for column, group, metric, figure in (
        ("validation.loss.last", "validation_metrics", "loss", "last"),
        ("custom/g.x.y.max", "custom/g", "x.y", "max"),
    ):
        if values[column] is not None:
            summary[group] = {metric: {figure: as_json(values[column])}}
    trial = await add_trial(
        pool,
        experiment,
        hparams={k: v for k, v in hparams.items() if v is not None},
        metadata=None if note is None else {"note": note},
        summary_metrics=summary,
        **own,
    )
    if has_ended := draw.random() < 0.6:
        await end_trial(pool, trial)
    return {
        **values,
        "id": trial,
        "checkpointCount": own["checkpoint_count"],
        "searcherMetricsVal": own["best_metric"],
        "logPolicyMatched": own["log_policy_matched"],
        "experimentName": of["name"],
        "tags": ",".join(of["labels"]),
        "forkedFrom": of["forked_from"],
        "state": "COMPLETED" if has_ended else "ACTIVE",
    }


@pytest.mark.parametrize("seed", range(3))
async def test_a_filter_finds_the_rows_that_it_holds_for(pool: Database, seed: int) -> None:
    draw = random.Random(seed)
    project = await add_project(pool)
    rows = await random_rows(pool, project, draw)
    ids = [row["id"] for row in rows]
    sizes = set()
    async with pool.acquire() as conn:
        for _ in range(150):
            tree = random_tree(draw, ids)
            wanted = ListQuery(filter=Filter(tree), project_id=project, limit=-1)
            found, page = await find_page(conn, RUNS, wanted)
            assert found == [row["id"] for row in rows if holds(tree, row)], tree
            assert page.total == len(found)
            sizes.add(len(found))
    assert len(sizes) > 10


@pytest.mark.parametrize("seed", range(2))
async def test_a_sort_orders_rows_with_those_without_a_value_last(
    pool: Database, seed: int
) -> None:
    draw = random.Random(seed)
    project = await add_project(pool)
    rows = await random_rows(pool, project, draw)
    async with pool.acquire() as conn:
        for column in COLUMNS:
            for is_descending in (False, True):
                sort = Sort(column, is_descending)
                wanted = ListQuery(
                    filter=Filter(Group("and")), sorts=[sort], project_id=project, limit=-1
                )
                found, _ = await find_page(conn, RUNS, wanted)
                assert found == in_order(rows, sort), sort


def in_order(rows: list[Row], sort: Sort) -> list[int]:
    def value(row: Row) -> Any:
        found = row.get(sort.column)
        return None if isinstance(found, float) and math.isnan(found) else found

    having = [row for row in rows if value(row) is not None]
    without = [row for row in rows if value(row) is None]
    having.sort(key=lambda row: (value(row), row["id"]), reverse=sort.is_descending)
    without.sort(key=lambda row: row["id"], reverse=sort.is_descending)
    return [row["id"] for row in (*having, *without)]


@pytest.mark.parametrize(
    ("value", "cast"), [(7, "int8"), (7.0, "int8"), (7.5, "float8"), (1e300, "float8")]
)
@pytest.mark.parametrize("column", ["id", "experimentId", "projectId"])
def test_whole_numbers_are_found_by_the_index_of_a_key(
    column: str, value: float, cast: str
) -> None:
    composed = Composed(RUNS, {})
    composed.add_tree(Group("and", (Condition(column, "=", "NUMBER", value),)))
    assert composed.where().endswith(f"= $1::{cast}))")
    assert (composed.values, type(composed.values[0]) is int) == ([value], cast == "int8")


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_numbers_that_are_not_finite_are_compared_as_doubles(value: float) -> None:
    composed = Composed(RUNS, {})
    composed.add_tree(Group("and", (Condition("id", "<", "NUMBER", value),)))
    assert composed.where().endswith("< $1::float8))")
