"""A run that reports 5,000 metrics: its charts, the columns of its list, the comparison."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Page, Request, expect
from tests.webui.conftest import Site
from tests.webui.lists import columns, expect_rows, grid
from tests.webui.work import Place, Run, new_place, record

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("webui-2")]

METRICS = 5000
SERIES = "/api/ui/v1/series"
MAX_SERIES = 120
"""Asked for before anybody scrolls: those of the first section, not those of all metrics."""


def name_of(number: int) -> str:
    return f"layer{number:04}"


@pytest.fixture(scope="module")
def place(site: Site) -> Place:
    return new_place(site.cluster, "many metrics")


@pytest.fixture(scope="module")
def runs(site: Site, place: Place) -> list[tuple[int, int]]:
    """Experiment and run of two recordings."""
    made = []
    for copy in range(2):
        experiment, [trial] = record(site.cluster, place, f"many {copy}", [Run({"lr": 0.1}, [])])
        for step in (1, 2):
            values = {name_of(n): n / METRICS + step + copy for n in range(METRICS)}
            metrics = {"trialId": trial, "trialRunId": 1, "stepsCompleted": step}
            body = {"group": "training", "metrics": {**metrics, "metrics": {"avgMetrics": values}}}
            site.cluster.post(f"/api/v1/trials/{trial}/metrics", body)
        made.append((experiment, trial))
    return made


def asked_series(page: Page) -> list[str]:
    """Collects the names of the metrics that the page asks for."""
    names: list[str] = []

    def note(request: Request) -> None:
        if SERIES in request.url:
            body = json.loads(request.post_data or "{}")
            names.extend(each["name"] for each in body["metrics"])

    page.on("request", note)
    return names


def test_charts_are_drawn_and_read_as_far_as_they_are_looked_at(
    admin: Any, runs: list[tuple[int, int]]
) -> None:
    asked = asked_series(admin.page)
    page: Page = admin.goto(f"/experiments/{runs[0][0]}/metrics")
    charts = page.get_by_role("application", name=re.compile(r"^training\.layer"))
    expect(charts.first).to_be_visible()
    expect(page.get_by_role("status").filter(has_text="5,000 charts")).to_be_visible()
    more = page.get_by_role("button", name="Show 60 more")
    expect(more).to_be_visible()
    assert len(set(asked)) <= MAX_SERIES
    page.get_by_role("searchbox", name="Search charts").fill("layer4999$")
    expect(page.get_by_role("status").filter(has_text="1 of 5,000 charts")).to_be_visible()
    expect(page.get_by_role("application", name="training.layer4999")).to_be_visible()
    expect(charts).to_have_count(1)
    assert len(set(asked)) <= MAX_SERIES


def test_a_column_of_5000_is_found_and_shown(
    place: Place, admin: Any, runs: list[tuple[int, int]]
) -> None:
    page: Page = admin.goto(f"/projects/{place.project}/runs")
    expect_rows(page, [trial for _, trial in reversed(runs)])
    page.get_by_role("button", name="Columns", exact=True).click()
    picker = page.get_by_role("dialog", name="Columns")
    told = "columns; the first 200 are listed. Type a part of the name."
    expect(picker.get_by_role("status")).to_contain_text(told)
    assert picker.get_by_role("checkbox").count() <= 200
    picker.get_by_role("textbox", name="Find a column").fill("layer4321")
    picker.get_by_role("checkbox", name=re.compile("layer4321")).first.check()
    page.keyboard.press("Escape")
    grid(page).evaluate("table => { table.scrollLeft = table.scrollWidth; }")
    expect(grid(page).get_by_role("columnheader", name=re.compile("layer4321"))).to_be_visible()
    assert any("layer4321" in each for each in columns(page))


def test_two_such_runs_are_compared(admin: Any, runs: list[tuple[int, int]]) -> None:
    asked = asked_series(admin.page)
    page: Page = admin.goto(f"/compare?runs={','.join(str(trial) for _, trial in runs)}")
    chart = page.get_by_role("application", name="training.layer0000")
    expect(chart).to_be_visible()
    assert len(set(asked)) <= MAX_SERIES
