"""The list of a project of 100,000 runs with all of its 200 columns, in a browser."""

from __future__ import annotations

import asyncio
import statistics
from typing import TYPE_CHECKING, Any

import asyncpg

from bench import big_rows
from bench.browser.chromium import in_browser
from bench.browser.visit import Tab, Visit
from bench.cluster import Cluster
from bench.figure import Figure, Limit, Load, Measured
from determined_master.store.embedded.answers import connection_options
from determined_master.store.embedded.files import Layout

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext

LOADS, QUERIES = 5, 5
GRID = '[role="grid"]'
ROWS_A_FRAME, JUMP_A_FRAME, FRAMES = 3, 70, 240
ROW_PX = 34
PERCENT = 95
MIB = 1024 * 1024


def measure(cluster: Cluster, load: Load) -> Measured:
    """Medians of loads and of queries, the 95th percentile of frames, and the heap."""
    project_id = asyncio.run(_fill(cluster, load.count))
    _show_all_columns(cluster, project_id)
    return in_browser(cluster, lambda person: _visit(person, project_id, load.count))


async def _fill(cluster: Cluster, runs: int) -> int:
    options = connection_options(Layout(cluster.files / "postgres"))
    conn = await asyncpg.connect(**options, timeout=10)
    try:
        project_id, _ = await big_rows.fill(conn, runs, reports=0)
        return project_id
    finally:
        await conn.close()


def _show_all_columns(cluster: Cluster, project_id: int) -> None:
    """A view of the project, its default one, has each column that a run has a value of."""
    answer = cluster.call("GET", f"/api/v1/projects/{project_id}/columns?tableType=TABLE_TYPE_RUN")
    names = [each["column"] for each in answer["columns"]]
    if len(names) < big_rows.COLUMNS:
        raise RuntimeError(f"{len(names)} columns, not {big_rows.COLUMNS} and those of all runs")
    first = ["id", "experimentName", "state"]
    columns = [*first, *(name for name in names if name not in first)]
    state = {"list": "runs", "query": "", "sort": [{"id": "id", "desc": True}]}
    state |= {"columns": columns, "pinned": first[:2]}
    view = {"name": "all columns", "scope": "project", "isDefault": True, "state": state}
    cluster.call("POST", f"/api/ui/v1/projects/{project_id}/views", view)


def _visit(person: Visit, project_id: int, runs: int) -> Measured:
    path = f"/projects/{project_id}/runs"
    context = person.profile()
    newest = person.cluster.call("POST", "/api/v1/runs", _newest(project_id))["runs"][0]["id"]
    claim = f'__probe.firstRow().includes("{newest}") && __probe.rows().length > 10'
    cold = _load(person, context, path, claim, is_cold=True)
    tab = person.tab(context)
    warm = []
    for number in range(LOADS):
        _change(person.cluster, project_id, number)
        warm.append(tab.load(path, claim))
    scrolled = tab.evaluate(f"__probe.scroll({GRID!r}, {ROWS_A_FRAME * ROW_PX}, {FRAMES})")
    jumped = tab.evaluate(f"__probe.scroll({GRID!r}, {JUMP_A_FRAME * ROW_PX}, {FRAMES // 2})")
    across = tab.evaluate(f"__probe.scroll({GRID!r}, {ROW_PX}, {FRAMES // 2}, true)")
    changed = [_ask(tab, n, runs) for n in range(QUERIES)]
    heap = tab.devtools().send("Runtime.getHeapUsage")["usedSize"] / MIB
    tab.close()
    facts = {
        "cold_s": round(cold / 1e3, 3),
        "frame_p50_ms": round(statistics.median(scrolled), 1),
        "jump_p95_ms": _p95(jumped),
        "across_p95_ms": _p95(across),
        "loads_ms": [round(each) for each in warm],
        "queries_ms": [round(each) for each in changed],
    }
    first_s, query_s = statistics.median(warm) / 1e3, statistics.median(changed) / 1e3
    return Measured([first_s, query_s, _p95(scrolled), heap], facts)


def _newest(project_id: int) -> dict[str, Any]:
    return {"projectId": project_id, "limit": 1, "sort": "id=desc"}


def _load(
    person: Visit, context: BrowserContext, path: str, claim: str, *, is_cold: bool
) -> float:
    tab = person.tab(context)
    if is_cold:
        tab.forget_files()
    shown_ms = tab.load(path, claim)
    tab.close()
    return shown_ms


def _change(cluster: Cluster, project_id: int, number: int) -> None:
    """No load gets the answers that the master kept for the one before."""
    cluster.call("PATCH", f"/api/v1/projects/{project_id}", {"description": f"change {number}"})


def _ask(tab: Tab, number: int, runs: int) -> float:
    """Type a query; milliseconds from Enter to the first frame with the rows of the answer.

    Raises:
        RuntimeError: the answer has all runs, or none.
    """
    field = tab.page.locator("input[data-query-bar]")
    field.fill(f"hp.hp1>{3 + number}.{number + 1} validation.m0.last<0.{9 - number}")
    tab.evaluate("__probe.before = __probe.total()")
    field.press("Enter")
    shown = tab.shown_at("![undefined, __probe.before].includes(__probe.total())")
    found = int(tab.evaluate("__probe.total()"))
    if not 0 < found < runs:
        raise RuntimeError(f"query {number} found {found} of {runs} runs")
    return shown - float(tab.evaluate("__probe.events.keydown"))


def _p95(times: list[float]) -> float:
    return round(sorted(times)[len(times) * PERCENT // 100], 1)


FIGURE = Figure(
    name="ui_runs_100k",
    limits=[
        Limit("first_rows", "s", 0.8, "at_most"),
        Limit("query", "s", 0.7, "at_most"),
        Limit("frame_p95", "ms", 34.0, "at_most"),
        Limit("heap", "MiB", 250.0, "at_most", judged="count"),
    ],
    measure=measure,
    full=Load(runs=1, count=big_rows.RUNS),
    smoke=Load(runs=1, count=big_rows.RUNS // 10),
    in_smoke=False,
    needs="own",
)
