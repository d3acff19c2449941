"""The comparison of 50 runs: twelve charts of 50 lines of 1,500 points each, in a browser."""

from __future__ import annotations

import asyncio
import json
import statistics

import asyncpg

from bench import big_rows
from bench.browser.chromium import in_browser
from bench.browser.visit import Visit
from bench.cluster import Cluster
from bench.figure import Figure, Limit, Load, Measured
from bench.figures.ui_runs import make_blocks
from determined_master.store.embedded.answers import connection_options
from determined_master.store.embedded.files import Layout

COMPARED, METRICS = 50, 12
LOADS = 5
LAST_STEP = 10 * big_rows.COMPARED_REPORTS
VIEW = {"width": 1920, "height": 1080}
_SUMMARIES = """
    UPDATE trials SET summary_metrics = $3::jsonb WHERE id >= $1 AND id < $2
"""


def measure(cluster: Cluster, load: Load) -> Measured:
    """Medians of loads of the page; the master has no answer of an earlier one."""
    trial_id = asyncio.run(_fill(cluster))
    make_blocks(cluster, trial_id)
    trials = range(trial_id - load.count, trial_id)
    return in_browser(cluster, lambda person: _visit(person, trials))


async def _fill(cluster: Cluster) -> int:
    options = connection_options(Layout(cluster.files / "postgres"))
    conn = await asyncpg.connect(**options, timeout=10)
    try:
        _, trial_id = await big_rows.fill(conn, big_rows.RUNS_AN_EXPERIMENT, reports=0)
        figures = {"type": "number", "count": big_rows.COMPARED_REPORTS, "last": 1.0}
        summary = {"avg_metrics": {f"m{i}": figures for i in range(METRICS)}}
        await conn.execute(_SUMMARIES, trial_id - COMPARED, trial_id, json.dumps(summary))
        return trial_id
    finally:
        await conn.close()


def _visit(person: Visit, trials: range) -> Measured:
    path = f"/compare?runs={','.join(map(str, trials))}"
    tab = person.tab(person.profile(viewport=VIEW))
    first: list[float] = []
    whole: list[float] = []
    for number in range(LOADS + 1):
        # Another range each time: the master has kept no answer for it.
        asked = f"{path}&zoom={-number - 1}~{LAST_STEP + number}"
        first.append(tab.load(asked, "__probe.charts().length > 0"))
        whole.append(tab.shown_at("__probe.areChartsDrawn()"))
    lines = int(tab.evaluate("""document.querySelectorAll('[aria-label="Lines"] > li').length"""))
    charts = len(tab.evaluate("__probe.charts().map(() => 1)"))
    facts = {"loads_ms": [round(each) for each in whole], "charts_in_view": charts, **tab.facts()}
    tab.close()
    if lines % len(trials) or lines < charts * len(trials):
        raise RuntimeError(f"{charts} charts of {len(trials)} runs have {lines} lines")
    # The first load fetched the files, too.
    return Measured([statistics.median(each[1:]) / 1e3 for each in (first, whole)], facts)


FIGURE = Figure(
    name="ui_compare_50",
    limits=[Limit("first_charts", "s", 1.0, "at_most"), Limit("all_charts", "s", 2.0, "at_most")],
    measure=measure,
    full=Load(runs=1, count=COMPARED),
    smoke=Load(runs=1, count=COMPARED // 10),
    in_smoke=False,
    needs="own",
)
