"""Names with markup, right-to-left text and ten thousand characters; numbers that are none."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.webui.conftest import Site
from tests.webui.scene import Place, new_name, new_place

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("webui-2")]

MARKUP = "<img src=x onerror=window.ran=1><script>window.ran=1</script>"
RIGHT_TO_LEFT = "\u202e\u05de\u05d5\u05d3\u05dc\u202c \u0627\u0644\u0639\u0631\u0628\u064a\u0629"
"""Hebrew in an override, then Arabic."""
LONG = "w" * 10_000
REPORTS = """
import math
from determined import core

values = [1.0, math.nan, math.inf, -math.inf, 1e300, -1e300, 5e-324, 3.0]
with core.init(tensorboard_mode=core.TensorboardMode.MANUAL) as context:
    print("<b>bold</b> " + {markup!r}, flush=True)
    print("w" * 10_000, flush=True)
    for step, value in enumerate(values, 1):
        context.train.report_training_metrics(step, {{"odd": value, {markup!r}: value}})
    context.train.report_validation_metrics(len(values), {{"loss": math.nan}})
"""


@pytest.fixture(scope="module")
def place(site: Site) -> Place:
    return new_place(site.cluster, "hostile")


@pytest.fixture(scope="module")
def run(place: Place) -> int:
    experiment = place.submit(
        REPORTS.format(markup=MARKUP),
        name=MARKUP,
        description=f"{RIGHT_TO_LEFT} {MARKUP} {LONG}"[:10_000],
        labels=[MARKUP, RIGHT_TO_LEFT, LONG[:200]],
        hyperparameters={MARKUP: MARKUP, "long": LONG},
    )
    assert place.cluster.wait(experiment) == "COMPLETED"
    notes = f"{MARKUP}\n\n[x](javascript:window.ran=1)\n\n{RIGHT_TO_LEFT}\n\n{LONG}"
    path = f"/api/v1/experiments/{experiment}"
    place.cluster.session().patch(path, json={"id": experiment, "notes": notes})
    return experiment


def look(page: Page) -> None:
    """Nothing of a name ran, and nothing makes the page wider than its window."""
    assert page.evaluate("window.ran === undefined")
    assert page.locator("img[src=x], main script").count() == 0
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0, f"{page.url} is {wide} px too wide"


@pytest.mark.parametrize("width", [1280, 320])
def test_no_name_runs_and_none_bursts_a_page(
    site: Site, place: Place, run: int, visit: Any, width: int
) -> None:
    person = visit(site.address, viewport={"width": width, "height": 800})
    trial = place.trial(run)["id"]
    tabs = ("overview", "metrics", "hyperparameters", "checkpoints", "code", "logs", "notes")
    for tab in (*tabs, "story"):
        page: Page = person.goto(f"/experiments/{run}/{tab}")
        expect(page.get_by_role("heading", level=1)).to_have_text(MARKUP)
        expect(page.get_by_label("Loading", exact=False)).to_have_count(0)
        look(page)
    for path in (f"/projects/{place.project}/runs", f"/compare?runs={trial}", "/dashboard"):
        page = person.goto(path)
        expect(page.get_by_text(MARKUP[:20]).first).to_be_attached()
        look(page)


def test_hostile_names_of_models_and_templates_stay_text(
    place: Place, visit: Any, site: Site
) -> None:
    name = f"{new_name('model')} {MARKUP.replace('/', '')}"  # a model's name has no slash
    body = {"name": name, "description": LONG, "labels": [MARKUP], "workspaceId": place.workspace}
    site.cluster.post("/api/v1/models", body | {"notes": MARKUP, "metadata": {MARKUP: MARKUP}})
    person = visit(site.address)
    page: Page = person.goto(f"/workspaces/{place.workspace}/models")
    link = page.get_by_role("link", name=name)
    look(page)
    link.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    look(page)


def test_charts_draw_around_numbers_that_are_none(place: Place, run: int, admin: Any) -> None:
    page: Page = admin.goto(f"/experiments/{run}/metrics")
    trial = place.trial(run)["id"]
    picture = page.get_by_role("application", name="training.odd", exact=True).get_by_role("img")
    said = picture.get_attribute("aria-label") or ""
    body = {"trialIds": [trial], "metrics": [{"group": "training", "name": "odd"}]}
    [series] = place.cluster.post("/api/ui/v1/series", body)["series"]
    assert (series["count"], series["nonFiniteCount"]) == (5, 3)
    assert f"trial {trial}: from 1 to 3, lowest -1e300, highest 1e300, 3 not finite." in said
    chart = page.get_by_role("region", name="training.odd", exact=True)
    expect(chart.get_by_role("list", name="Lines")).to_contain_text("3 not finite")
    chart.get_by_role("button", name="Menu of training.odd").click()
    page.get_by_role("menuitem", name="Show the data as a table").click()
    table = chart.get_by_role("region", name="training.odd, data")
    drawn = ["1", "NaN", "NaN", "NaN", "1e300", "-1e300", "4.941e-324", "3"]
    expect(table.get_by_role("cell")).to_have_text(drawn)
    lost = page.get_by_role("region", name="validation.loss", exact=True)
    expect(lost).to_contain_text("1 not finite")
