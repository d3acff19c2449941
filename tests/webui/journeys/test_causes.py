"""Why a run failed, on its overview, without a click."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect
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
