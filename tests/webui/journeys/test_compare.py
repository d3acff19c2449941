"""Trials beside each other: curves, facts, configurations, code."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.webui.charts import as_table, chart, csv_rows, download, open_menu
from tests.webui.conftest import Site
from tests.webui.lists import expect_rows, select
from tests.webui.work import Place, Run, new_place, paused, record, run_of

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("webui-2")]

POINTS = 8
METRIC = "validation.loss"


@pytest.fixture(scope="module")
def place(site: Site) -> Place:
    return new_place(site.cluster, "compare")


@pytest.fixture(scope="module")
def runs(site: Site, place: Place) -> list[int]:
    """Three runs whose losses halve from 64, 96 and 128."""
    made = []
    for number, start in enumerate((64, 96, 128)):
        losses = [start / 2**step for step in range(POINTS)]
        hparams = {"lr": 10.0 ** -(number + 1), "width": 32}
        _, trials = record(site.cluster, place, f"halves {number}", [Run(hparams, losses)])
        made += trials
    return made


@pytest.fixture
def person(site: Site, visit: Any) -> Any:
    """Somebody whose window shows all charts."""
    return visit(site.address, viewport={"width": 1280, "height": 1700})


@pytest.fixture
def page(person: Any, runs: list[int]) -> Page:
    found: Page = person.goto(f"/compare?runs={','.join(map(str, runs))}")
    return found


def values(site: Site, runs: list[int], axis: str) -> dict[int, dict[float, float]]:
    """What the master knows of the metric: values by place, for each run."""
    body = {
        "trialIds": runs,
        "metrics": [{"group": "validation", "name": "loss"}],
        "x": axis,
        "buckets": 1000,
    }
    answer = site.cluster.post("/api/ui/v1/series", body)["series"]
    found = {each["trialId"]: dict(zip(each["x"], each["last"], strict=True)) for each in answer}
    assert [len(points) for points in found.values()] == [POINTS] * len(runs)
    return found


def settings(page: Page) -> None:
    chart(page, METRIC).get_by_role("button", name="How the chart is drawn").click()


def test_a_selection_leads_to_curves_whose_values_are_the_master_s(
    site: Site, place: Place, runs: list[int], person: Any
) -> None:
    page = person.goto(f"/projects/{place.project}/runs?q=halves")
    expect_rows(page, runs[::-1])
    select(page, *runs)
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Compare 3 trials")
    lines = chart(page, METRIC).get_by_role("list", name="Lines").get_by_role("button")
    expect(lines).to_have_text([re.compile(f"^trial {run}") for run in sorted(runs)])

    known = values(site, runs, "batches")
    area = chart(page, METRIC).get_by_role("application")
    other = chart(page, "training.loss").locator("canvas").last
    expect(other).to_be_visible()
    before = other.evaluate("canvas => canvas.toDataURL()")
    area.hover()
    place_text = area.get_by_text(re.compile(r"^batch \d+$"))
    expect(place_text).to_be_visible()
    batch = int(place_text.inner_text().removeprefix("batch "))
    tip = place_text.locator("..").inner_text()
    shown = {int(run): value for run, value in re.findall(r"trial (\d+)\s+(\S+)", tip)}
    assert shown == {run: f"{known[run][batch]:.4g}" for run in runs}
    after = other.evaluate("canvas => canvas.toDataURL()")
    assert after != before, "the cursor stands on the other chart, too"

    area.focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    expect(
        area.get_by_text(re.compile(rf"trial \d+, batch 20: {known[runs[0]][20]:.4g}"))
    ).to_be_visible()


def test_files_have_the_drawn_data(site: Site, runs: list[int], page: Page) -> None:
    known = values(site, runs, "batches")
    head, rows = csv_rows(download(page, METRIC, "CSV of the drawn data"))
    assert head == ["Batches", *(f"trial {run}" for run in runs)]
    read = {float(x): [float(value) for value in row] for x, *row in rows}
    assert read == {x: [known[run][x] for run in runs] for x in known[runs[0]]}
    settings(page)
    page.get_by_label("Smoothing").select_option("ema")
    page.keyboard.press("Escape")
    expect(chart(page, METRIC).get_by_text("smoothed (EMA 0.6)")).to_be_visible()
    head, smooth = csv_rows(download(page, METRIC, "CSV of the drawn data"))
    assert all("smoothed (EMA 0.6)" in name for name in head[1:])
    assert float(smooth[-1][1]) > float(rows[-1][1]), "a smoothed line lags behind a fall"


def test_axes_and_scales_change_the_drawing(site: Site, runs: list[int], page: Page) -> None:
    linear = download(page, METRIC, "SVG")
    assert ">1<" not in linear
    settings(page)
    page.get_by_role("radio", name="Log10").check()
    page.keyboard.press("Escape")
    logarithmic = download(page, METRIC, "SVG")
    assert all(f">{power}<" in logarithmic for power in (1, 10, 100))
    page.get_by_label("Axis", exact=True).select_option("epochs")
    expect(page).to_have_url(re.compile(r"[?&]x=epochs"))
    known = values(site, runs, "epochs")
    rows = as_table(page, METRIC)
    expect(rows).to_have_count(POINTS)
    expect(rows.first).to_contain_text("epoch 1")
    last = [f"{known[run][POINTS]:.4g}" for run in runs]
    expect(rows.last.get_by_role("cell")).to_have_text(last)
    open_menu(page, METRIC)
    page.get_by_role("menuitem", name="Show the chart").click()
    area = chart(page, METRIC).get_by_role("application")
    area.focus()
    page.keyboard.press("+")
    expect(page).to_have_url(re.compile(r"[?&]zoom=\d"))
    page.keyboard.press("0")
    expect(page).not_to_have_url(re.compile("zoom="))


def test_details_show_what_differs(runs: list[int], page: Page) -> None:
    page.get_by_role("radio", name="Details").click()
    table = page.get_by_role("region", name="Trials side by side")
    names = table.get_by_role("rowheader")
    expect(names.filter(has_text=re.compile("^hp.lr$"))).to_be_visible()
    expect(names.filter(has_text=re.compile("^hp.width$"))).to_have_count(0)
    lr = table.get_by_role("row").filter(has_text="hp.lr").get_by_role("cell")
    expect(lr).to_have_text(["0.1", "0.01", "0.001"])
    different = names.count()
    page.get_by_label("Only differences").uncheck()
    expect(names.filter(has_text=re.compile("^hp.width$"))).to_be_visible()
    assert names.count() > different
    expect(page).to_have_url(re.compile("tab=details"))


def test_configuration_and_code_show_the_changed_lines(
    site: Site, place: Place, admin: Any
) -> None:
    shared = {"data/load.py": "rows = 3\n"}
    files = [
        {"main.py": "import time\nlr = 0.1\n", **shared},
        {"main.py": "import time\nlr = 0.2\n", "extra.py": "new = 1\n", **shared},
    ]
    made = [paused(site.cluster, place, f"code {n}", each) for n, each in enumerate(files)]
    ids = [run_of(site.cluster, each) for each in made]
    page = admin.goto(f"/compare?runs={ids[0]},{ids[1]}&tab=configuration")
    diff = page.get_by_role("region", name="Configuration")
    expect(diff.get_by_text("name: code 0")).to_be_visible()
    expect(diff.get_by_text("name: code 1")).to_be_visible()
    page.get_by_role("radio", name="Code").click()
    changed = page.get_by_role("list", name="Files that differ").get_by_role("button")
    expect(changed).to_have_text([re.compile("extra.py.*added"), re.compile("main.py.*changed")])
    changed.last.click()
    diff = page.get_by_role("region", name="main.py")
    expect(diff.get_by_text("lr = 0.1")).to_be_visible()
    expect(diff.get_by_text("lr = 0.2")).to_be_visible()


def test_searches_are_compared_by_their_runs(site: Site, place: Place, admin: Any) -> None:
    made = [
        record(site.cluster, place, f"pair {n}", [Run({}, [1.0]), Run({}, [2.0])])
        for n in range(2)
    ]
    page = admin.goto(f"/projects/{place.project}/searches?q=pair")
    expect_rows(page, [made[1][0], made[0][0]], "Experiments")
    page.get_by_label("Select all rows").click()
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Compare 4 trials")
    lines = chart(page, METRIC).get_by_role("list", name="Lines").get_by_role("button")
    expect(lines).to_have_text([re.compile(f"^trial {run}") for _, runs in made for run in runs])


def test_a_log_scale_without_a_value_above_0_says_so_and_offers_another(
    site: Site, place: Place, admin: Any
) -> None:
    _, [run] = record(site.cluster, place, "below", [Run({}, [-4.0, -2.0, -1.0])])
    page = admin.goto(f"/compare?runs={run}")
    settings(page)
    page.get_by_role("radio", name="Log10").check()
    page.keyboard.press("Escape")
    below = chart(page, METRIC)
    expect(below).to_contain_text("No value is above 0")
    below.get_by_role("button", name="Use the symlog scale").click()
    expect(below.get_by_role("application")).to_be_visible()
