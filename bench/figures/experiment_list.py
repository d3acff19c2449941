"""Lists of a project with 20,000 experiments and 200,000 runs, each with its exact total."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from bench import list_rows
from bench.cluster import HOST, Cluster
from bench.figure import Figure, Limit, Load, Measured
from bench.load import client
from bench.load.http_load import request_bytes

EXPERIMENTS = 20_000
TARGET_MS = 60.0
PERCENT = 95

Request = tuple[str, str, Any]


def _where(column: str, operator: str, value: Any) -> str:
    field = {"kind": "field", "columnName": column, "operator": operator, "value": value}
    group = {"kind": "group", "conjunction": "and", "children": [field]}
    return json.dumps({"filterGroup": group, "showArchived": False})


def _search(path: str, sort: str = "id=desc", **more: Any) -> Request:
    return "POST", path, {"projectId": 1, "limit": 50, "sort": sort, **more}


def _runs(*args: Any, **more: Any) -> Request:
    return _search("/api/v1/runs", *args, **more)


def _found(*args: Any, **more: Any) -> Request:
    return _search("/api/v1/experiments-search", *args, **more)


def _listed(query: str) -> Request:
    return "GET", f"/api/v1/experiments?limit=50&{query}", None


LISTS: dict[str, Callable[[int], Request]] = {
    "experiments": lambda n: _listed("orderBy=ORDER_BY_DESC"),
    "experiments_deep": lambda n: _listed(f"offset={n * 3 // 4}"),
    "experiments_name": lambda n: _listed("name=199"),
    "experiments_state": lambda n: _listed("states=STATE_COMPLETED&sortBy=SORT_BY_USER"),
    "search": lambda n: _found(),
    "search_metric": lambda n: _found("searcherMetricsVal=asc"),
    "runs": lambda n: _runs(),
    "runs_deep": lambda n: _runs(offset=n * 5),
    "runs_name": lambda n: _runs(filter=_where("experimentName", "contains", "199")),
    "runs_state": lambda n: _runs(filter=_where("state", "=", "ERROR")),
    "runs_metric": lambda n: _runs("searcherMetricsVal=asc"),
    "runs_hyperparameter": lambda n: _runs(filter=_where("hp.lr", "<", 0.0001)),
    "columns": lambda n: ("GET", "/api/v1/projects/1/columns", None),
    "ranges": lambda n: ("GET", "/api/v1/projects/1/experiments/metric-ranges", None),
}
"""By name, given the number of experiments: deep pages lie deeper in longer lists."""


def measure(cluster: Cluster, load: Load) -> Measured:
    """The 95th percentile of each list, one client; the figure is the slowest of them."""
    list_rows.fill(cluster, load.count)
    _check_totals(cluster, load.count)
    p95: dict[str, float] = {}
    for name, request_of in LISTS.items():
        method, path, body = request_of(load.count)
        text = b"" if body is None else json.dumps(body).encode()
        request = request_bytes(cluster, method, path, text)
        times = client.run(HOST, cluster.port, iter([request] * 10_000), 1, load.seconds)
        p95[f"{name}_ms"] = round(times.percentile(PERCENT) * 1e3, 1)
    return Measured([max(p95.values())], {"p95": p95, "over": _over(p95)})


def _over(p95: dict[str, float]) -> list[str]:
    return [name for name, value in p95.items() if value > TARGET_MS]


def _check_totals(cluster: Cluster, experiments: int) -> None:
    runs = experiments * list_rows.RUNS_AN_EXPERIMENT
    for (method, path, body), wanted in ((_runs(), runs), (_found(), experiments)):
        total = int(cluster.call(method, path, body)["pagination"]["total"])
        if total != wanted:
            raise RuntimeError(f"{path} tells a total of {total}, there are {wanted}")


FIGURE = Figure(
    name="experiment_list",
    limits=[Limit("slowest_p95", "ms", TARGET_MS, "at_most")],
    measure=measure,
    full=Load(runs=1, seconds=2.0, count=EXPERIMENTS),
    smoke=Load(runs=1, seconds=0.3, count=EXPERIMENTS // 10),
    needs="own",
)
LARGE = Figure(
    name="experiment_list_1m",
    limits=[Limit("slowest_p95", "ms", TARGET_MS, "at_most")],
    measure=measure,
    full=Load(runs=1, seconds=2.0, count=5 * EXPERIMENTS),
    smoke=Load(runs=1, seconds=0.3, count=EXPERIMENTS // 10),
    in_smoke=False,  # it would be `experiment_list` once more
    needs="own",
)
"""A million runs in one project."""
