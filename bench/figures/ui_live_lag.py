"""From a committed report to the pixel of its value, in a list of runs that all report."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import psutil

from bench.browser.chromium import in_browser
from bench.browser.visit import Tab, Visit
from bench.cluster import Cluster
from bench.experiments import reporting_trials
from bench.figure import Figure, Limit, Load, Measured
from bench.load.paced import Request, paced_requests
from bench.reports import REPORT_TIME

RUNS, EVERY_S, CONNECTIONS = 100, 1.0, 4
PERCENT = 95
FIRST_VALUE = 1_000_000
"""Values fall by one a report: each is the best of its run, which the list shows."""
SETTLE_S = 2.0
_WATCH = """() => {
  const heads = [...document.querySelectorAll('[role="columnheader"]')];
  const head = heads.find((each) => each.innerText.includes("Searcher metric value"));
  const place = head.ariaColIndex;
  const shown = new Map();
  const seen = (__probe.seen = []);
  let due = false;
  const read = () => {
    due = false;
    __probe.painted(() => {
      const at = Date.now() / 1000;
      for (const row of __probe.rows()) {
        const id = row.querySelector("a.number")?.innerText;
        const value = row.querySelector(`[aria-colindex="${place}"] .number`)?.title;
        if (!id || !value || shown.get(id) === value) continue;
        shown.set(id, value);
        seen.push([Number(id), Number(value), at]);
      }
    });
  };
  new MutationObserver(() => {
    if (!due) due = true, read();
  }).observe(document.querySelector('[role="grid"]'), {
    subtree: true,
    childList: true,
    characterData: true,
    attributeFilter: ["title"],
  });
}"""


@dataclass(frozen=True)
class Used:
    """Percent of a core."""

    master: float
    tab: float = 0.0
    browser: float = 0.0


class Committed:
    """When the report of each value was answered, by run and value."""

    def __init__(self) -> None:
        self.at: dict[int, dict[int, float]] = {}

    def requests(self, trial_ids: Sequence[int], first: int) -> Iterator[Request]:
        """A validation of each run in turn; its value is one less than the one before."""
        for number in itertools.count(first):
            for trial_id in trial_ids:
                value = FIRST_VALUE - number
                yield f"/api/v1/trials/{trial_id}/metrics", _body(trial_id, number, value)
                self.at.setdefault(trial_id, {})[value] = time.time()


def _body(trial_id: int, number: int, value: int) -> dict[str, Any]:
    metrics = {
        "trialId": trial_id,
        "trialRunId": 0,
        "stepsCompleted": number,
        "reportTime": REPORT_TIME,
        "metrics": {"avgMetrics": {"loss": float(value)}},
    }
    return {"metrics": metrics, "group": "validation"}


def measure(cluster: Cluster, load: Load) -> Measured:
    """The load without a tab, and with one; all 100 runs report once a second."""
    trial_ids = reporting_trials(cluster, load.count)
    alone = _alone(cluster, trial_ids, load)
    lags, used = in_browser(cluster, lambda person: _visit(person, trial_ids, load))
    facts = {
        "lag_p50_s": round(_percentile(lags, 50), 3),
        "lag_max_s": round(max(lags), 3),
        "events": len(lags),
        "master_alone_percent": round(alone.master, 1),
        "master_watched_percent": round(used.master, 1),
        "browser_and_gpu_percent": round(used.browser, 1),
    }
    more = used.master - alone.master
    return Measured([_percentile(lags, PERCENT), used.tab, more], facts)


def _alone(cluster: Cluster, trial_ids: Sequence[int], load: Load) -> Used:
    with _reporting(cluster, trial_ids, Committed()):
        time.sleep(SETTLE_S)
        before, since = _master_s(cluster), time.monotonic()
        time.sleep(load.seconds)
        return Used(100 * (_master_s(cluster) - before) / (time.monotonic() - since))


@contextlib.contextmanager
def _reporting(cluster: Cluster, trial_ids: Sequence[int], committed: Committed) -> Iterator[None]:
    """All runs report once a second, over some connections."""
    first = next(cluster.steps) * 10_000
    with contextlib.ExitStack() as stack:
        for share in range(CONNECTIONS):
            mine = trial_ids[share::CONNECTIONS]
            if mine:
                requests = committed.requests(mine, first)
                stack.enter_context(paced_requests(cluster, requests, len(mine) / EVERY_S))
        yield


def _visit(person: Visit, trial_ids: Sequence[int], load: Load) -> tuple[list[float], Used]:
    cluster, committed = person.cluster, Committed()
    tab = person.tab(person.profile())
    tab.load("/projects/1/runs", f"__probe.rows().length >= {min(15, load.count)}")
    with _reporting(cluster, trial_ids, committed):
        tab.page.evaluate(_WATCH)
        time.sleep(SETTLE_S)
        began = time.time()
        used = _used(person, tab, load.seconds)
        ended = time.time()
        time.sleep(SETTLE_S)
    seen = tab.evaluate("__probe.seen")
    tab.close()
    return _lags(committed, seen, began, ended), used


def _used(person: Visit, tab: Tab, seconds: float) -> Used:
    before, master_s, since = person.cpu_s(), _master_s(person.cluster), time.monotonic()
    tab.page.wait_for_timeout(seconds * 1e3)
    after, master_s = person.cpu_s(), _master_s(person.cluster) - master_s
    took = time.monotonic() - since
    each = {kind: 100 * (after[kind] - before.get(kind, 0.0)) / took for kind in after}
    tab_percent = each.pop("renderer")
    return Used(100 * master_s / took, tab_percent, sum(each.values()))


def _lags(
    committed: Committed, seen: Sequence[tuple[int, int, float]], began: float, ended: float
) -> list[float]:
    """Seconds from each answer of that time to the frame with its value, or with a later one.

    Raises:
        RuntimeError: a value of a run in sight never came.
    """
    shown: dict[int, list[tuple[int, float]]] = {}
    for trial_id, value, at in seen:
        shown.setdefault(int(trial_id), []).append((int(value), at))
    lags = []
    for trial_id, frames in shown.items():
        for value, committed_at in committed.at.get(trial_id, {}).items():
            if not began <= committed_at <= ended:
                continue
            later = [at for seen_value, at in frames if seen_value <= value]
            if not later:
                raise RuntimeError(f"run {trial_id} never showed {value}")
            lags.append(max(0.0, min(later) - committed_at))
    if not lags:
        raise RuntimeError("no run in sight reported")
    return lags


def _master_s(cluster: Cluster) -> float:
    times = psutil.Process(cluster.pids()["master"]).cpu_times()
    return float(times.user + times.system)


def _percentile(values: Sequence[float], percent: int) -> float:
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


FIGURE = Figure(
    name="ui_live_lag",
    limits=[
        Limit("lag_p95", "s", 1.0, "at_most"),
        Limit("tab", "% of a core", 35.0, "at_most"),
        Limit("master_more", "% of a core", 5.0, "at_most"),
    ],
    measure=measure,
    full=Load(runs=3, seconds=15.0, count=RUNS),
    smoke=Load(runs=1, seconds=3.0, count=RUNS // 10),
    in_smoke=False,
    needs="own",
)
