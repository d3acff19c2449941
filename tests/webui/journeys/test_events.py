"""Events of the cluster and acts of administrators: who did what, and who may read it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.webui.conftest import Site
from tests.webui.scene import NAPS, Place, new_place
from tests.webui.tables import row_of

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("webui-2")]


@pytest.fixture(scope="module")
def place(site: Site) -> Place:
    return new_place(site.cluster, "events")


def test_an_event_has_its_user_and_leads_to_its_object(place: Place, admin: Any) -> None:
    page: Page = admin.goto("/events")
    experiment = place.submit(NAPS)
    place.cluster.post(f"/api/v1/experiments/{experiment}/kill")
    page.get_by_role("button", name="new").click()  # they are offered, and do not move the list
    page.get_by_role("searchbox", name="Find words").fill(place.name)
    row = page.get_by_role("grid", name="Events").get_by_role("row").filter(has_text="admin")
    link = row.first.get_by_role("link", name=place.name)
    expect(link).to_be_visible()
    expect(page).to_have_url(re.compile("[?&]q="))
    link.click()
    expect(page).to_have_url(re.compile(f"/experiments/{experiment}(/|$)"))
    expect(page.get_by_role("heading", level=1)).to_have_text(place.name)


def test_changes_of_users_are_in_the_audit_log_of_administrators_alone(
    place: Place, admin: Any, visit: Any
) -> None:
    made = place.cluster.post("/api/v1/workspaces", {"name": f"{place.name}-audited"})
    number = made["workspace"]["id"]
    page: Page = admin.goto("/events/administration")
    page.get_by_role("searchbox", name="Find words").fill("workspace")
    expect(row_of(page, "Administration events", "admin").first).to_be_visible()
    expect(page.get_by_role("grid", name="Administration events")).to_contain_text(
        "workspace", ignore_case=True
    )
    other: Page = visit(admin.address, "ada").goto("/events")
    expect(other.get_by_role("link", name="Administration")).to_have_count(0)
    answer = other.request.get(f"{admin.address}/api/ui/v1/audit")
    assert answer.status == 403
    place.cluster.session().delete(f"/api/v1/workspaces/{number}")
