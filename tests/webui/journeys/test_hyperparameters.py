"""What a finished grid search shows about its hyperparameters."""

from __future__ import annotations

import itertools
import re
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Page, expect
from tests.webui.charts import as_table, chart
from tests.webui.conftest import Site
from tests.webui.work import Run, new_place, record

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("webui-2")]

RATES = (0.0001, 0.001, 0.003, 0.01, 0.03, 0.1)
WIDTHS = (16, 32, 64, 128, 256)
REPORTS = """
import determined as det

with det.core.init() as core:
    lr = det.get_cluster_info().trial.hparams["lr"]
    for step in (1, 2, 3, 4):
        core.train.report_validation_metrics(step, {"loss": lr / step, "batches": step})
        if core.preempt.should_preempt():
            break
"""


class Grid(NamedTuple):
    experiment: int
    trials: dict[int, tuple[float, int]]
    """Learning rate and width of each trial."""


@pytest.fixture(scope="module")
def grid(site: Site) -> Grid:
    """Thirty runs: the loss follows the learning rate, and hardly the width."""
    place = new_place(site.cluster, "grid")
    pairs = list(itertools.product(RATES, WIDTHS))
    runs = [
        Run({"lr": lr, "width": width}, [20.0, 1 + 10 * lr + width / 100_000])
        for lr, width in pairs
    ]
    space = {
        "lr": {"type": "categorical", "vals": list(RATES)},
        "width": {"type": "categorical", "vals": list(WIDTHS)},
    }
    searcher = {"name": "grid", "metric": "loss", "max_length": 100}
    experiment, trials = record(
        site.cluster, place, "planted", runs, hyperparameters=space, searcher=searcher
    )
    return Grid(experiment, dict(zip(trials, pairs, strict=True)))


@pytest.fixture
def page(admin: Any, grid: Grid) -> Page:
    return admin.goto(f"/experiments/{grid.experiment}/visualization")


def test_learning_curves_of_all_runs_are_drawn(grid: Grid, admin: Any) -> None:
    page = admin.goto(f"/experiments/{grid.experiment}/metrics")
    lines = chart(page, "validation.loss").get_by_role("list", name="Lines").get_by_role("button")
    expect(lines).to_have_text([re.compile(f"^trial {trial}") for trial in grid.trials])


def test_importance_ranks_the_planted_parameter_first(site: Site, grid: Grid, page: Page) -> None:
    path = f"/api/ui/v1/experiments/{grid.experiment}/hp-importance"
    answer = site.cluster.get(path)
    assert [each["name"] for each in answer["parameters"]] == ["lr", "width"]
    title = "Importance for loss"
    summary = chart(page, title).get_by_role("img")
    expect(summary).to_have_attribute("aria-label", re.compile("from 30 trials: lr "))
    rows = as_table(page, title)
    expect(rows.get_by_role("rowheader")).to_have_text(["lr", "width"])
    first = float(rows.first.get_by_role("cell").first.inner_text())
    assert first == pytest.approx(answer["parameters"][0]["importance"])
    assert first > 0.9


def test_a_brush_filters_the_runs(grid: Grid, page: Page) -> None:
    title = "Parallel coordinates"
    table = page.get_by_role("region", name="Trials of the parallel coordinates")
    runs = table.locator("tbody tr")
    expect(runs).to_have_count(len(grid.trials))
    chart(page, title).get_by_role("button", name="lr", exact=True).click()
    axis = page.get_by_role("dialog", name="Axis lr")
    axis.get_by_label("To", exact=True).fill("0.004")
    page.keyboard.press("Escape")
    inside = {trial for trial, (lr, _) in grid.trials.items() if lr <= 0.004}
    expect(chart(page, title).get_by_role("status")).to_have_text(f"{len(inside)} of 30 trials")
    expect(runs).to_have_count(len(inside))
    found = {int(text) for text in runs.get_by_role("link").all_inner_texts()}
    assert found == inside

    area = chart(page, title).get_by_role("application")
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    assert box is not None
    middle = box["x"] + box["width"] / 2
    page.mouse.move(middle, box["y"] + box["height"] - 14)
    page.mouse.down()
    page.mouse.move(middle, box["y"] + box["height"] * 0.4, steps=4)
    page.mouse.up()
    expect(chart(page, title).get_by_role("status")).not_to_have_text(
        f"{len(inside)} of 30 trials"
    )
    narrower = {int(text) for text in runs.get_by_role("link").all_inner_texts()}
    assert narrower < inside
    widths = {grid.trials[trial][1] for trial in narrower}
    assert widths == set(WIDTHS[: len(widths)])
    chart(page, title).get_by_role("button", name="Show all").click()
    expect(runs).to_have_count(len(grid.trials))


def test_pairs_and_history_have_the_values_of_the_runs(grid: Grid, page: Page) -> None:
    for title in ("loss by lr", "loss by width"):
        summary = chart(page, title).get_by_role("img")
        expect(summary).to_have_attribute("aria-label", re.compile("30 trials"))
    rows = as_table(page, "loss by lr and width")
    expect(rows).to_have_count(len(grid.trials))
    history = as_table(page, "Best loss so far")
    expect(history).to_have_count(len(grid.trials))
    best = min(1 + 10 * lr + width / 100_000 for lr, width in grid.trials.values())
    assert float(history.last.get_by_role("cell").last.inner_text()) == pytest.approx(best)
    spans = as_table(page, "Timeline")
    expect(spans).to_have_count(len(grid.trials))
    expect(spans.first.get_by_role("rowheader")).to_have_text(f"trial {min(grid.trials)}")
    points = chart(page, "loss by lr").get_by_role("application")
    points.focus()
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/trials/\d+/"))
    trial = re.search(r"/trials/(\d+)/", page.url)
    assert trial
    assert int(trial[1]) in grid.trials


def test_charts_show_another_metric_and_the_address_keeps_it(grid: Grid, page: Page) -> None:
    page.get_by_label("Metric of the charts").select_option("training.epochs")
    page.get_by_role("radio", name="Highest is best").click()
    history = as_table(page, "Best training.epochs so far")
    expect(history.last.get_by_role("cell").last).to_have_text("2")
    summary = chart(page, "Importance for training.epochs").get_by_role("img")
    expect(summary).to_have_attribute("aria-label", re.compile("from 30 trials"))
    page.get_by_label("Horizontal axis of the pair").select_option("width")
    expect(chart(page, "training.epochs by width and lr")).to_be_visible()
    expect(page).to_have_url(re.compile(r"\?metric=training\.epochs&best=highest&across=width$"))

    page.reload()
    expect(page.get_by_label("Metric of the charts")).to_have_value("training.epochs")
    expect(page.get_by_role("radio", name="Highest is best")).to_be_checked()
    expect(chart(page, "training.epochs by width and lr")).to_be_visible()

    page.get_by_label("Metric of the charts").select_option("validation.loss")
    page.get_by_role("radio", name="Lowest is best").click()
    expect(chart(page, "Best loss so far")).to_be_visible()
    expect(page).to_have_url(re.compile(r"\?across=width$"))


def test_rungs_show_how_far_the_trials_of_a_search_came(site: Site, admin: Any) -> None:
    searcher = {
        "name": "adaptive_asha",
        "metric": "loss",
        "time_metric": "batches",
        "max_time": 4,
        "max_trials": 4,
        "max_concurrent_trials": 2,
        "divisor": 2,
        "bracket_rungs": [3],
    }
    space = {"lr": {"type": "double", "minval": 0.1, "maxval": 0.2}}
    config = new_place(site.cluster, "halving").config(
        "halving", searcher=searcher, hyperparameters=space
    )
    experiment = site.cluster.submit(config, {"main.py": REPORTS})
    site.cluster.wait(experiment)
    page = admin.goto(f"/experiments/{experiment}/visualization")
    summary = chart(page, "Rungs").get_by_role("img")
    expect(summary).to_have_attribute("aria-label", re.compile("4 reached rung 0"))
    rows = as_table(page, "Rungs")
    expect(rows).to_have_count(3)
    cells = [row.get_by_role("cell").all_inner_texts() for row in rows.all()]
    assert [row[0] for row in cells] == ["1", "2", "4"]
    assert cells[0][1:4] == ["0", "0", "4"], "all four reached the first rung"
    for _, _, _, reached, stopped, passed, *_ in cells:
        assert int(stopped) + int(passed) == int(reached)
