"""Twelve pages of a project of twenty runs: how long until their content stands there."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

from bench.browser.chromium import in_browser
from bench.browser.project import SCRIPT, Project, browsed
from bench.browser.visit import Tab, Visit
from bench.cluster import Cluster
from bench.figure import Figure, Limit, Load, Measured

PERCENT = 95
ELSEWHERE = "/settings"


def pages(project: Project) -> Mapping[str, tuple[str, str]]:
    """Address and claim of each page, by name."""
    search, run = project.experiment_id, project.trial_ids[0]
    last = project.trial_ids[-1]
    runs = ",".join(str(each) for each in project.trial_ids)
    of_search = f"/experiments/{search}"
    return {
        "home": ("/dashboard", _link(of_search)),
        "workspace": (
            f"/workspaces/{project.workspace_id}/projects",
            _link(f"/projects/{project.id}"),
        ),
        "runs": (f"/projects/{project.id}/runs", f'__probe.firstRow().includes("{last}")'),
        "searches": (f"/projects/{project.id}/searches", f"{_link(of_search)} && {_ROW}"),
        "search": (f"{of_search}/overview", f"{_link('/trials/')} && {_text('learning_rate')}"),
        "metrics": (f"{of_search}/metrics", "__probe.areChartsDrawn(2)"),
        "hyperparameters": (
            f"{of_search}/visualization",
            'document.querySelector("main canvas") && __probe.isQuiet()',
        ),
        "code": (f"{of_search}/code", _text(SCRIPT)),
        "run": (f"/trials/{run}/overview", f"{_text('learning_rate')} && {_text('Batches')}"),
        "log": (f"/trials/{run}/logs", "__probe.lines().length > 20"),
        "compare": (f"/compare?runs={runs}", "__probe.areChartsDrawn(2)"),
        "cluster": ("/clusters", _text("agent-")),
    }


_ROW = "__probe.rows().length > 0"


def _link(address: str) -> str:
    return f"document.querySelector('main a[href*=\"{address}\"]')"


def _text(wanted: str) -> str:
    return f'document.querySelector("main")?.innerText.includes("{wanted}")'


def measure(cluster: Cluster, load: Load) -> Measured:
    """Loads with files in the cache and without them, `count` of each page."""
    found = pages(browsed(cluster))
    warm, cold, routed = in_browser(cluster, lambda person: _visit(person, found, load.count))
    slowest = max(warm, key=lambda name: statistics.median(warm[name]))
    facts = {
        "warm_median_ms": _medians(warm),
        "cold_median_ms": _medians(cold),
        "within_page_median_ms": _medians(routed),
        "within_page_p95": _p95(routed),
        "slowest": slowest,
    }
    return Measured([_p95(warm), _p95(cold)], facts)


Times = dict[str, list[float]]


def _visit(
    person: Visit, found: Mapping[str, tuple[str, str]], count: int
) -> tuple[Times, Times, Times]:
    warm: Times = {name: [] for name in found}
    cold: Times = {name: [] for name in found}
    routed: Times = {name: [] for name in found}
    context = person.profile()
    for _ in range(count):
        for name, (path, claim) in found.items():
            tab = person.tab(context)
            tab.forget_files()
            cold[name].append(tab.load(path, claim))
            tab.close()
    for name, (path, claim) in found.items():
        tab = person.tab(context)
        _settle(tab, path, claim)
        for _ in range(count):
            warm[name].append(tab.load(path, claim))
        for _ in range(count):
            tab.load(ELSEWHERE, _text("Theme"))
            routed[name].append(tab.route(path, claim))
        tab.close()
    return warm, cold, routed


def _settle(tab: Tab, path: str, claim: str) -> None:
    """A browser keeps compiled scripts from their second use on."""
    for _ in range(2):
        tab.load(path, claim)


def _medians(times: Times) -> dict[str, Any]:
    return {name: round(statistics.median(each)) for name, each in times.items()}


def _p95(times: Times) -> float:
    """Seconds, of all pages together."""
    ordered = sorted(time for each in times.values() for time in each)
    return round(ordered[min(len(ordered) - 1, len(ordered) * PERCENT // 100)] / 1e3, 3)


FIGURE = Figure(
    name="ui_page_ready",
    limits=[Limit("warm_p95", "s", 0.4, "at_most"), Limit("cold_p95", "s", 0.8, "at_most")],
    measure=measure,
    full=Load(runs=3, count=3),
    smoke=Load(runs=1, count=1),
    in_smoke=False,
)
