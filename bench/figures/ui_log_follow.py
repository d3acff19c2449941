"""A log that is followed in a browser while its task prints 2,000 lines a second."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from bench import experiments, rows
from bench.browser.chromium import in_browser
from bench.browser.visit import Tab, Visit
from bench.cluster import Cluster, until
from bench.figure import Figure, Limit, Load, Measured

PER_SECOND = 2000
PERCENT = 95
PLACES = 20
"""Where the log is looked at afterwards."""
ROW_PX = 20
_WATCH = """() => {
  const box = document.querySelector('[role="region"][aria-label$="lines"]');
  const seen = (__probe.seen = []);
  let newest = -1;
  let due = false;
  new MutationObserver(() => {
    if (due) return;
    due = true;
    __probe.painted(() => {
      due = false;
      const numbers = __probe.lines().map((row) => __probe.lineNumber(row));
      const last = Math.max(...numbers);
      if (last <= newest) return;
      newest = last;
      seen.push([last, Date.now() / 1000]);
    });
  }).observe(box, { subtree: true, childList: true, characterData: true, attributes: true });
}"""
_SHOWN = """([share]) => {
  const box = document.querySelector('[role="region"][aria-label$="lines"]');
  box.scrollTop = share * (box.scrollHeight - box.clientHeight);
  return new Promise((resolve) => __probe.painted(() => __probe.painted(() =>
    resolve(__probe.lines().map((row) => [row.offsetTop, __probe.lineNumber(row)])))));
}"""
_PRINTED = """
    SELECT array_agg(substr(log, 19, 14)::float8 ORDER BY id) FROM task_logs
     WHERE task_id = $1 AND log LIKE 'line %'
"""


def measure(cluster: Cluster, load: Load) -> Measured:
    """From the time that the task printed a line to the frame that shows it; all must be there."""
    lines = round(load.seconds * PER_SECOND)
    start = cluster.directory / f"start-{next(cluster.steps)}"
    variables = {
        "BENCH_LINES": str(lines),
        "BENCH_PER_SECOND": str(PER_SECOND),
        "BENCH_START": str(start),
    }
    experiment_id = experiments.submit(cluster, "print_paced.py", variables=variables)
    until(
        lambda: len(experiments.trial_ids(cluster, experiment_id)) == 1, 60, "a task that prints"
    )
    [trial_id] = experiments.trial_ids(cluster, experiment_id)
    task_id = experiments.task_id(cluster, trial_id)
    until(lambda: rows.count_lines(cluster, task_id) > 0, 60, "the first line of a task")
    try:
        seen, found = in_browser(cluster, lambda person: _visit(person, trial_id, lines, start))
    finally:
        start.touch()
    experiments.wait_until_ended(cluster, experiment_id)
    printed = rows.fetch_value(cluster, _PRINTED, task_id)
    if len(printed) != lines:
        raise RuntimeError(f"{lines} lines were printed, {len(printed)} are stored")
    lags = _lags(printed, seen)
    facts = {
        "lines": lines,
        "lag_p50_s": round(_percentile(lags, 50), 3),
        "lag_max_s": round(max(lags), 3),
        **found,
    }
    return Measured([found["dropped"], _percentile(lags, PERCENT)], facts)


def _visit(
    person: Visit, trial_id: int, lines: int, start: Path
) -> tuple[list[tuple[int, float]], dict[str, Any]]:
    tab = person.tab(person.profile())
    tab.load(f"/trials/{trial_id}/logs", "__probe.lines().length > 0")
    tab.page.evaluate(_WATCH)
    cpu_s = person.cpu_s()["renderer"]
    start.touch()
    tab.shown_at(f"(__probe.seen.at(-1)?.[0] ?? 0) >= {lines - 1}")
    cpu_s = person.cpu_s()["renderer"] - cpu_s
    seen = tab.evaluate("__probe.seen")
    facts = {
        "dropped": lines - _count(tab, lines),
        "frames": len(seen),
        "tab_percent": round(100 * cpu_s * PER_SECOND / lines, 1),
    }
    tab.close()
    return seen, facts


def _count(tab: Tab, lines: int) -> int:
    """How many rows the page has from the first printed line to the last one.

    Raises:
        RuntimeError: rows in between are not in order.
    """
    ends: dict[int, float] = {}
    for place in range(PLACES + 1):
        found = tab.page.evaluate(_SHOWN, [place / PLACES])
        shown = [(top, number) for top, number in sorted(found) if number >= 0]
        if not shown or any(after[1] - before[1] != 1 for before, after in pairwise(shown)):
            raise RuntimeError(f"the log shows {shown} at {place} of {PLACES}")
        ends |= {number: top for top, number in shown if number in (0, lines - 1)}
    return round((ends[lines - 1] - ends[0]) / ROW_PX) + 1


def _lags(printed: Sequence[float], seen: Sequence[tuple[int, float]]) -> list[float]:
    """Seconds of each line until the first frame that shows it, or a later line below it."""
    lags: list[float] = []
    for newest, at in seen:
        lags += [at - time for time in printed[len(lags) : int(newest) + 1]]
    return lags


def _percentile(values: Sequence[float], percent: int) -> float:
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


FIGURE = Figure(
    name="ui_log_follow",
    limits=[
        Limit("dropped", "lines", 0, "at_most", judged="count"),
        Limit("lag_p95", "s", 0.5, "at_most"),
    ],
    measure=measure,
    full=Load(runs=1, seconds=30.0),
    smoke=Load(runs=1, seconds=3.0),
    in_smoke=False,
)
