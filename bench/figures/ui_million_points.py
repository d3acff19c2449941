"""The chart of a series of a million reports, in a browser: first draw, zoom, and its spikes."""

from __future__ import annotations

import asyncio
import random
import statistics

from bench import rows
from bench.browser.chromium import in_browser
from bench.browser.visit import Tab, Visit
from bench.cluster import Cluster
from bench.experiments import reporting_trials
from bench.figure import Figure, Limit, Load, Measured
from bench.figures import series_read
from bench.reports import report_body

LOADS, ZOOMS = 5, 5
ZOOM_SHARE = 10
"""A zoom shows one part in so many."""
_SUMMARY = """
    UPDATE trials SET summary_metrics = jsonb_build_object('avg_metrics', jsonb_build_object(
        'loss', jsonb_build_object('type', 'number', 'count', 1, 'last', 2, 'min', 2, 'max', 2,
                                   'mean', 2, 'sum', 2)))
     WHERE id = $1 RETURNING 1
"""
_SPIKES = """(shares) => {
  const canvas = document.querySelector(".u-wrap > canvas");
  const frame = document.querySelector(".u-over").getBoundingClientRect();
  const own = canvas.getBoundingClientRect();
  const context = canvas.getContext("2d");
  const scale = canvas.width / own.width;
  const [left, top] = [(frame.left - own.left) * scale, (frame.top - own.top) * scale];
  const line = (y) => context.getImageData(0, Math.round(y), canvas.width, 1).data;
  const above = line(top + 1);
  const below = line(top + frame.height * scale * 0.2);
  const differs = (x) => [0, 1, 2].some((i) => above[4 * x + i] !== below[4 * x + i]);
  return shares.map((share) => {
    const at = Math.round(left + share * frame.width * scale);
    const near = [-3, -2, -1, 0, 1, 2, 3].some((by) => differs(at + by));
    const aside = [-9, -8, 8, 9].filter((by) => differs(at + by)).length;
    return near && aside < 2;
  });
}"""
"""Whether each spike is drawn: a fifth below the top, only its column has ink."""


def measure(cluster: Cluster, load: Load) -> Measured:
    """Medians of loads of the page and of zooms into it; each is another answer of the master."""
    trial_id = reporting_trials(cluster, 1)[0]
    if cluster.prepared.get("series") != load.count:
        asyncio.run(series_read.fill(cluster, trial_id, load.count))
        cluster.prepared["series"] = load.count
    rows.fetch_value(cluster, _SUMMARY, trial_id)
    return in_browser(cluster, lambda person: _visit(person, trial_id, load.count))


def _visit(person: Visit, trial_id: int, count: int) -> Measured:
    tab = person.tab(person.profile())
    path = f"/trials/{trial_id}/metrics"
    tab.load(path, "__probe.areChartsDrawn(1)")  # blocks of the series are made, files fetched
    first = []
    for number in range(LOADS):
        _report(person.cluster, trial_id, count + number + 1)
        first.append(tab.load(path, "__probe.areChartsDrawn(1)"))
    facts = tab.facts()
    _check(tab, count + LOADS, series_read.spikes(count))
    zooms = [_zoom(tab, number) for number in range(ZOOMS)]
    tab.close()
    facts |= {"loads_ms": [round(each) for each in first]}
    facts |= {"zooms_ms": [round(each) for each in zooms]}
    return Measured([statistics.median(each) / 1e3 for each in (first, zooms)], facts)


def _report(cluster: Cluster, trial_id: int, step: int) -> None:
    """One more report: the answer that the master has kept is not that of the next request."""
    body = report_body(trial_id, step, 1, "training", random.Random(step))
    cluster.call("POST", f"/api/v1/trials/{trial_id}/metrics", body)


def _check(tab: Tab, last: int, spikes: list[int]) -> None:
    shares = [(step - 1) / (last - 1) for step in spikes]
    seen = tab.page.evaluate(_SPIKES, shares)
    if not all(seen):
        raise RuntimeError(f"of the spikes at the steps {spikes} the chart shows {seen}")


def _zoom(tab: Tab, number: int) -> float:
    """Drag over a tenth of the whole range; milliseconds until the finer series is drawn."""
    plot = tab.page.locator(".u-over").first
    plot.dblclick()
    tab.shown_at("__probe.isWhole()")
    box = plot.bounding_box()
    if box is None:
        raise RuntimeError("the chart has no plotting area")
    x = box["x"] + box["width"] * (0.1 + 0.15 * number)
    y = box["y"] + box["height"] / 2
    mouse = tab.page.mouse
    mouse.move(x, y)
    mouse.down()
    mouse.move(x + box["width"] / ZOOM_SHARE, y, steps=4)
    mouse.up()
    shown = tab.shown_at("__probe.isDrawnAgain('/api/ui/v1/series')")
    return shown - float(tab.evaluate("__probe.events.mouseup"))


FIGURE = Figure(
    name="ui_million_points",
    limits=[Limit("first_draw", "s", 0.6, "at_most"), Limit("zoom", "s", 0.4, "at_most")],
    measure=measure,
    full=Load(runs=1, count=series_read.REPORTS),
    smoke=Load(runs=1, count=series_read.REPORTS // 10),
    in_smoke=False,
    needs="own",
)
