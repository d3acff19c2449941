"""Answers that refuse, things that vanish while one looks, two persons who edit one note."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect
from tests.e2e.cluster import until
from tests.webui.conftest import Site
from tests.webui.scene import SAVES, Place, new_place
from tests.webui.tables import row_of

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("webui-2")]

REFUSALS = {
    409: "another change came first",
    413: "the body has 9000000 bytes; at most 8388608 are allowed",
    429: "too many requests; try again in 30 s",
    503: "the database is away",
}


@pytest.fixture(scope="module")
def place(site: Site) -> Place:
    return new_place(site.cluster, "refusals")


@pytest.fixture(scope="module")
def run(place: Place) -> int:
    experiment = place.submit(SAVES)
    assert place.cluster.wait(experiment) == "COMPLETED"
    return experiment


def answer_with(status: int) -> Any:
    """A handler that refuses as the master does."""
    error = {"code": 0, "reason": "", "error": REFUSALS[status]}

    def handle(route: Route) -> None:
        if route.request.method in ("GET", "PATCH"):
            body = json.dumps({"error": error})
            route.fulfill(status=status, content_type="application/json", body=body)
        else:
            route.continue_()

    return handle


@pytest.mark.parametrize("status", list(REFUSALS))
def test_a_refused_note_keeps_its_text_and_says_why(run: int, admin: Any, status: int) -> None:
    page: Page = admin.goto(f"/experiments/{run}/notes")
    page.get_by_role("button", name="Edit", exact=True).click()
    editor = page.get_by_label("Notes (Markdown)")
    editor.fill(f"typed before {status}")
    admin.expects_outage = status >= 500
    handler = answer_with(status)
    page.route(f"**/api/v1/experiments/{run}", handler)
    page.get_by_role("button", name="Save").click()
    alert = page.get_by_role("alert").filter(has_text="The notes are not saved")
    expect(alert).to_contain_text(REFUSALS[status])
    expect(editor).to_have_value(f"typed before {status}")
    page.unroute(f"**/api/v1/experiments/{run}", handler)
    alert.get_by_role("button", name="Dismiss").click()
    page.get_by_role("button", name="Save").click()
    expect(editor).to_have_count(0)
    expect(page.get_by_text(f"typed before {status}")).to_be_visible()


def test_a_refused_list_says_why_and_is_tried_again(place: Place, admin: Any) -> None:
    page: Page = admin.page
    page.route("**/api/v1/models?*", answer_with(429))
    admin.goto(f"/workspaces/{place.workspace}/models")
    alert = page.get_by_role("alert").filter(has_text=REFUSALS[429])
    expect(alert).to_contain_text("status 429")
    page.unroute("**/api/v1/models?*")
    alert.get_by_role("button", name="Retry").click()
    expect(page.get_by_role("heading", name="No models yet")).to_be_visible()
    expect(alert).to_have_count(0)


def test_a_run_that_is_deleted_vanishes_where_it_is_looked_at(place: Place, admin: Any) -> None:
    cluster = place.cluster
    experiment = place.submit(SAVES, name="short-lived")
    assert cluster.wait(experiment) == "COMPLETED"
    listing = admin.open(f"/projects/{place.project}/runs")
    row = row_of(listing, "Trials", "short-lived")
    expect(row).to_be_visible()
    page: Page = admin.goto(f"/experiments/{experiment}/overview")
    expect(page.get_by_role("heading", level=1)).to_have_text("short-lived")
    cluster.session().delete(f"/api/v1/experiments/{experiment}")
    expect(row).to_have_count(0)
    expect(page.get_by_role("heading", name="Not found").first).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="Not found").first).to_be_visible()
    expect(page.get_by_role("navigation", name="Main")).to_be_visible()


def test_two_tabs_that_edit_one_note_lose_no_text(run: int, admin: Any) -> None:
    mine: Page = admin.goto(f"/experiments/{run}/notes")
    theirs: Page = admin.open(f"/experiments/{run}/notes")
    for page, text in ((mine, "mine"), (theirs, "theirs")):
        page.get_by_role("button", name="Edit", exact=True).click()
        page.get_by_label("Notes (Markdown)").fill(f"written as {text}")
    theirs.get_by_role("button", name="Save").click()
    expect(theirs.get_by_text("written as theirs")).to_be_visible()
    mine.get_by_role("button", name="Save").click()
    dialog = mine.get_by_role("dialog", name="Somebody else has changed the notes")
    expect(dialog).to_contain_text("written as theirs")
    dialog.get_by_role("button", name="Edit on").click()
    expect(mine.get_by_label("Notes (Markdown)")).to_have_value("written as mine")
    mine.get_by_role("button", name="Save").click()
    dialog.get_by_role("button", name="Save mine").click()
    expect(mine.get_by_role("paragraph").filter(has_text="written as mine")).to_be_visible()
    found = admin.context.request.get(f"{admin.address}/api/v1/experiments/{run}").json()
    assert found["experiment"]["notes"] == "written as mine"


def test_typed_notes_are_not_left_without_a_question(run: int, admin: Any) -> None:
    page: Page = admin.goto(f"/experiments/{run}/notes")
    page.get_by_role("button", name="Edit", exact=True).click()
    page.get_by_label("Notes (Markdown)").fill("not saved")
    page.get_by_role("link", name="Story").click()
    dialog = page.get_by_role("dialog", name="Discard what you typed?")
    dialog.get_by_role("button", name="Cancel").click()
    expect(page.get_by_label("Notes (Markdown)")).to_have_value("not saved")
    page.get_by_role("link", name="Story").click()
    dialog.get_by_role("button", name="Discard").click()
    expect(page).to_have_url(admin.url(f"/experiments/{run}/story"))


def test_the_database_comes_back_while_a_page_waits(place: Place, run: int, admin: Any) -> None:
    """Answers of 503 are asked again without an act of the person."""
    page: Page = admin.page
    admin.expects_outage = True
    left = [answer_with(503)] * 2

    def handle(route: Route) -> None:
        left.pop()(route) if left else route.continue_()

    page.route(f"**/api/v1/experiments/{run}", handle)
    page.goto(admin.url(f"/experiments/{run}/overview"))
    expect(page.get_by_role("heading", level=1)).to_have_text(place.name)
    until(lambda: not left, what="both refusals")
