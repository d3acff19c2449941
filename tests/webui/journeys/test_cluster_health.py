"""The health of the cluster: the master, agents that take no work, queues, usage of today."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.webui.conftest import Site

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("webui-2")]

AGENT = "agent-0"


def fact(page: Page, name: str) -> Locator:
    return page.locator(f"dl > div:has(> dt:text-is('{name}')) > dd")


def test_the_page_shows_what_the_master_reports(site: Site, admin: Any) -> None:
    page: Page = admin.goto("/clusters/health")
    expect(fact(page, "State")).to_have_text("up")
    expect(fact(page, "Database")).to_have_text("up")
    expect(fact(page, "Oldest effect")).to_have_text(re.compile("^in time"))
    version = site.cluster.get("/api/v1/master")["version"]
    expect(fact(page, "Version")).to_have_text(version)
    row = page.get_by_role("region", name="Queues").get_by_role("row").filter(has_text="default")
    expect(row).to_contain_text(re.compile(r"of 8"))
    usage = page.get_by_role("region", name="Slot hours today").get_by_role("row")
    expect(usage.filter(has_text="admin")).to_contain_text(" h")


def test_an_agent_that_takes_no_work_is_listed_while_it_does_not(site: Site, admin: Any) -> None:
    page: Page = admin.goto("/clusters/health")
    expect(page.get_by_text("1 agent, all take work.")).to_be_visible()
    try:
        site.cluster.post(f"/api/v1/agents/{AGENT}/disable", {"drain": True})
        row = page.get_by_role("region", name="Agents that take no work").locator("tbody tr")
        expect(row).to_contain_text("lost, or draining")
        link = row.get_by_role("link", name=AGENT)
        expect(link).to_have_attribute("href", re.compile(f"/agents/{AGENT}$"))
    finally:
        site.cluster.post(f"/api/v1/agents/{AGENT}/enable")
    expect(page.get_by_text("1 agent, all take work.")).to_be_visible()
