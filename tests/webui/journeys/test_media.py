"""The metrics of a trial show its images, tables, histograms, audio and texts."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.cluster import until
from tests.webui.conftest import Site
from tests.webui.scene import new_place

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("webui-2")]

REPORTS = """
from determined import core
from determined.media import Audio, Histogram, Image, Table

with core.init() as context:
    for step in (100, 200, 300):
        media = {
            "samples/first": Image([[0.0, step / 300], [1.0, 0.5]]),
            "confusion": Table(["class", "right"], [["<b>cat</b>", step]]),
            "weights": Histogram([0.5, 0.5, step], bins=4),
            "tone": Audio([0.0, 0.5, 0.0, -0.5] * 500, sample_rate=8000),
            "answer": f"<img src=x onerror=alert(1)> after {step}",
        }
        context.train.report_media(step, media, group="validation")
        context.train.report_validation_metrics(step, {"loss": 1 / step})
"""
NUMBERS = """
from determined import core

with core.init() as context:
    context.train.report_validation_metrics(1, {"loss": 0.5})
"""


def ended_trial(site: Site, script: str) -> int:
    """The trial of an experiment that has ended."""
    place = new_place(site.cluster, "media")
    experiment = place.submit(script)
    until(lambda: place.cluster.state(experiment) == "COMPLETED", what="its end")
    return int(place.trial(experiment)["id"])


def test_the_values_of_a_trial_follow_the_slider_of_its_steps(site: Site, admin: Any) -> None:
    trial = ended_trial(site, REPORTS)
    page: Page = admin.goto(f"/trials/{trial}/metrics")
    expect(page.get_by_role("application", name="loss")).to_be_visible()
    answer = page.get_by_role("region", name="answer")
    expect(answer.locator("pre")).to_have_text("<img src=x onerror=alert(1)> after 300")
    picture = page.get_by_role("img", name="samples/first", exact=True)
    expect(picture).to_have_js_property("naturalWidth", 2)
    cells = page.get_by_role("region", name="confusion").locator("tbody td")
    expect(cells).to_have_text(["<b>cat</b>", "300"])
    expect(page.get_by_role("img", name="weights: 3 values from 0.5 to 300")).to_be_visible()
    sound = page.get_by_role("region", name="tone").locator("audio")
    sound.evaluate("audio => audio.load()")
    sound.evaluate("audio => { audio.preload = 'auto' }")
    expect(sound).to_have_js_property("duration", 0.25)
    slider = page.get_by_role("slider", name="Steps")
    expect(slider).to_have_value("2")
    slider.press("Home")
    expect(page.get_by_text("After 100 steps", exact=True)).to_be_visible()
    expect(answer.locator("pre")).to_have_text("<img src=x onerror=alert(1)> after 100")
    expect(cells).to_have_text(["<b>cat</b>", "100"])
    slider.press("ArrowRight")
    expect(cells).to_have_text(["<b>cat</b>", "200"])
    expect(answer).to_contain_text("validation · after 200 steps")


def test_a_trial_without_media_has_charts_alone(site: Site, admin: Any) -> None:
    trial = ended_trial(site, NUMBERS)
    page: Page = admin.goto(f"/trials/{trial}/metrics")
    with page.expect_response(lambda each: each.url.endswith(f"/trials/{trial}/media")):
        page.reload()
    expect(page.get_by_role("application", name="loss")).to_be_visible()
    expect(page.get_by_role("heading", name="Media")).to_have_count(0)
