"""Why a run failed, on its overview, without a click."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.cluster import until
from tests.webui.conftest import Site
from tests.webui.scene import gate, new_place

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("webui-2")]

STARTS_MS = 120_000
"""A deadline is no claim: a busy machine takes long to start a process."""
SCRIPT = """\
import os, time
while not os.path.exists(os.environ["GATE"]):
    time.sleep(0.05)
batch = None
batch.shape
"""
SAID = "AttributeError: 'NoneType' object has no attribute 'shape' · t.py:5"


def test_an_open_overview_names_the_cause_and_links_its_line(site: Site, admin: Any) -> None:
    place = new_place(site.cluster, "cause")
    path, environment = gate(site.cluster)
    experiment = place.submit(SCRIPT, **environment)
    place.trial(experiment)
    page: Page = admin.goto(f"/experiments/{experiment}/overview")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    path.touch()
    expect(page.get_by_text(SAID, exact=True)).to_be_visible(timeout=STARTS_MS)
    page.get_by_role("link", name="Log", exact=True).click()
    expect(page).to_have_url(re.compile(r"/logs#L\d+$"))
    expect(page.get_by_text("AttributeError: 'NoneType'").first).to_be_visible()


def test_a_list_names_the_cause_of_each_failed_trial_and_links_its_line(
    site: Site, admin: Any
) -> None:
    place = new_place(site.cluster, "causes")
    path, environment = gate(site.cluster)
    path.touch()
    experiment = place.submit(SCRIPT, **environment)
    until(lambda: site.cluster.state(experiment) == "ERROR", what="its end")
    for tab, table in (("searches", "Experiments"), ("runs", "Trials")):
        page: Page = admin.goto(f"/projects/{place.project}/{tab}")
        link = page.get_by_role("grid", name=table).get_by_role("link", name=SAID)
        expect(link).to_have_attribute("title", SAID)
    link.click()
    expect(page).to_have_url(re.compile(r"/logs#L\d+$"))


def test_a_list_without_a_failure_has_no_column_for_causes(site: Site, admin: Any) -> None:
    place = new_place(site.cluster, "nocauses")
    experiment = place.submit("print('fine')\n")
    until(lambda: site.cluster.state(experiment) == "COMPLETED", what="its end")
    page: Page = admin.goto(f"/projects/{place.project}/runs")
    expect(page.get_by_role("grid", name="Trials").get_by_role("link").first).to_be_visible()
    expect(page.get_by_role("columnheader", name="Cause")).to_have_count(0)
    with page.expect_download() as saved:
        page.get_by_role("button", name="CSV").click()
    [head, row] = saved.value.path().read_text().splitlines()
    assert "Trial" in head.split(",")
    assert str(place.trial(experiment)["id"]) in row.split(",")
    page.get_by_role("button", name="Last week").click()
    expect(page.get_by_role("combobox", name="Query")).to_have_value("started>7d")
