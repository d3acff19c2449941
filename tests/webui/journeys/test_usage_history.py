"""Historical usage: charts and tables that equal the API's sums, ranges, both CSV files."""

from __future__ import annotations

import asyncio
import csv
import io
import re
from datetime import UTC, date, datetime, timedelta
from typing import Any

import asyncpg
import pytest
from playwright.sync_api import Page, expect
from tests.webui.conftest import Site

from determined_master.store.embedded.answers import connection_options
from determined_master.store.embedded.files import Layout

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("webui-2")]

DAY = timedelta(days=1)
ROUTE = "/api/v1/resources/allocation"


@pytest.fixture(scope="module")
def today(site: Site) -> date:
    """The day of the test; the days before it and the month before have sums."""
    now = datetime.now(UTC).date()
    rows = []
    for back, hours in ((1, 3.5), (2, 12.0), (3, 0.25), (40, 100.0)):
        day = now - back * DAY
        split = (("ada", 0.75), ("grace", 0.25))
        rows.append((day, "total", "total", hours * 3600))
        rows += [(day, "username", user, part * hours * 3600) for user, part in split]
        rows.append((day, "resource_pool", "default", hours * 3600))
        rows.append((day, "experiment_label", "baseline", hours * 3600))
    options: dict[str, Any] = connection_options(Layout(site.cluster.root / "db" / "pg"))
    with asyncio.Runner() as runner:
        conn = runner.run(asyncpg.connect(**options))
        query = "INSERT INTO usage_days (day, type, key, seconds) VALUES ($1, $2, $3, $4)"
        runner.run(conn.executemany(query, rows))
        runner.run(conn.close())
    return now


def aggregated(site: Site, start: str, end: str, period: str) -> list[dict[str, Any]]:
    name = f"RESOURCE_ALLOCATION_AGGREGATION_PERIOD_{period}"
    answer = site.cluster.get(f"{ROUTE}/aggregated", startDate=start, endDate=end, period=name)
    found: list[dict[str, Any]] = answer["resourceEntries"]
    return found


def bars(page: Page) -> dict[str, float]:
    """Hours by the first day of each bar."""
    chart = page.get_by_role("img", name=re.compile("^Slot hours from"))
    expect(chart).to_be_visible()
    titles = chart.locator("[title]").evaluate_all("(bars) => bars.map((bar) => bar.title)")
    found = [re.fullmatch(r"(\S+): (\S+) h", title) for title in titles]
    return {each[1]: float(each[2]) for each in found if each}


def hours(entries: list[dict[str, Any]]) -> dict[str, float]:
    return {each["periodStart"][:10]: each["seconds"] / 3600 for each in entries}


def test_days_and_months_equal_the_sums_of_the_master(site: Site, today: date, admin: Any) -> None:
    page: Page = admin.goto("/clusters/historical-usage")
    days = aggregated(site, str(today - 13 * DAY), str(today), "DAILY")
    assert len(days) >= 3
    assert bars(page) == hours(days)
    page.get_by_label("By", exact=True).select_option("user")
    users: dict[str, float] = {}
    for each in days:
        for user, seconds in each["byUsername"].items():
            users[user] = users.get(user, 0) + seconds / 3600
    rows = page.get_by_role("region", name="Slot hours by user").get_by_role("row")
    largest = sorted(users.items(), key=lambda each: -each[1])
    wanted = [f"{user}{float(f'{spent:.4g}'):g}" for user, spent in largest]
    expect(rows).to_have_text(["NameSlot hours", *wanted])

    page.get_by_label("Months").click()
    expect(page).to_have_url(re.compile("period=month"))
    start = str(today - 364 * DAY)[:7]
    months = hours(aggregated(site, start, str(today)[:7], "MONTHLY"))
    assert len(months) >= 2
    assert bars(page) == months
    page.reload()
    assert bars(page) == months


def test_a_range_has_bounds(today: date, admin: Any) -> None:
    start = today - 40 * DAY
    page: Page = admin.goto(f"/clusters/historical-usage?from={start}&to={today}")
    expect(page.get_by_label("To", exact=True)).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_text("At most 31 days; choose months for more.")).to_be_visible()
    page.get_by_label("From").fill(str(today + DAY))
    expect(page.get_by_text("The end is before the start.")).to_be_visible()
    page.get_by_label("From").fill(str(today - 3 * DAY))
    assert set(bars(page)) == {str(today - n * DAY) for n in (1, 2, 3)}


def test_both_files_hold_what_the_master_counts(site: Site, today: date, admin: Any) -> None:
    page: Page = admin.goto(f"/clusters/historical-usage?from={today - DAY}&to={today}")

    def table(link: str) -> list[dict[str, str]]:
        with page.expect_download() as waiting:
            page.get_by_role("link", name=link).click()
        with open(waiting.value.path(), newline="") as file:
            return list(csv.DictReader(io.StringIO(file.read())))

    experiment = site.ids["experiments"]["search"]
    used = [row for row in table("Allocations (CSV)") if row["experiment_id"] == str(experiment)]
    trials = site.cluster.trials(experiment)
    assert len(used) >= len(trials)
    assert sum(float(row["slot_hours"]) for row in used) > 0
    spans = [row for row in table("Workloads (CSV)") if row["experiment_id"] == str(experiment)]
    window = {
        "timestampAfter": f"{today - DAY}T00:00:00Z",
        "timestampBefore": f"{today}T23:59:59Z",
    }
    raw = site.cluster.get(f"{ROUTE}/raw", **window)["resourceEntries"]
    seconds = sum(each["seconds"] for each in raw if each["experimentId"] == experiment)
    assert sum(float(row["seconds"]) for row in spans) == pytest.approx(seconds, rel=1e-3)
