"""Home shows what the user submits, runs and ends, without a reload."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.webui.conftest import Site
from tests.webui.work import new_name, new_place, paused

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("webui")]


def test_a_submission_appears_and_changes_without_a_reload(site: Site, admin: Any) -> None:
    cluster = site.cluster
    place = new_place(cluster, "home")
    page = admin.goto("/dashboard")
    table = page.get_by_role("region", name="Your last submissions")
    expect(table).to_be_visible()
    page.evaluate("window.isSamePage = true")
    name = new_name("submitted")
    experiment = paused(cluster, place, name)
    row = table.get_by_role("row").filter(has_text=name)
    expect(row).to_be_visible()
    expect(row).to_contain_text("Paused")
    expect(row.get_by_role("link", name=place.project_name)).to_be_visible()
    cluster.post(f"/api/v1/experiments/{experiment}/activate")
    running = page.locator("section").filter(
        has=page.get_by_role("heading", name=re.compile("^Running"))
    )
    expect(running.get_by_role("link", name=name)).to_be_visible()
    cluster.post(f"/api/v1/experiments/{experiment}/kill")
    cluster.wait(experiment)
    expect(row).to_contain_text("Canceled")
    expect(running.get_by_role("link", name=name)).to_be_hidden()
    assert page.evaluate("window.isSamePage")


@pytest.mark.parametrize("hours", [-5, 5])
def test_a_wrong_clock_of_the_browser_changes_no_age(hours: int, site: Site, visit: Any) -> None:
    place = new_place(site.cluster, "clock")
    name = new_name("aged")
    paused(site.cluster, place, name)
    person = visit(site.address)
    person.context.add_init_script(
        f"const right = Date.now.bind(Date); Date.now = () => right() + {hours} * 3_600_000;"
    )
    page = person.goto("/dashboard")
    table = page.get_by_role("region", name="Your last submissions")
    row = table.get_by_role("row").filter(has_text=name)
    expect(row).to_contain_text(re.compile(r"just now|\d+s ago"))


def test_a_failure_is_listed_until_it_is_seen(site: Site, visit: Any) -> None:
    cluster = site.cluster
    place = new_place(cluster, "failures")
    person = visit(site.address)
    page = person.goto("/dashboard")
    name = new_name("fails")
    experiment = cluster.submit(place.config(name), {"main.py": "raise SystemExit(7)\n"})
    failed = page.locator("section").filter(
        has=page.get_by_role("heading", name=re.compile("^Failed"))
    )
    expect(failed.get_by_role("link", name=name)).to_be_visible(timeout=120_000)
    assert cluster.state(experiment) == "ERROR"
    count = cluster.get("/api/ui/v1/overview")["failureCount"]
    expect(failed.get_by_role("heading", name=f"Failed ({count})")).to_be_visible()
    failed.get_by_role("button", name="Mark as seen").click()
    expect(failed.get_by_role("heading", name="Failed (0)")).to_be_visible()
    page.reload()
    expect(failed.get_by_text("Nothing failed since your last visit.")).to_be_visible()


def test_projects_that_were_visited_last_come_first(site: Site, admin: Any) -> None:
    place = new_place(site.cluster, "visited")
    # The visit is noted once the page is idle.
    with admin.page.expect_response(lambda answer: answer.url.endswith("/users/activity")):
        page = admin.goto(f"/projects/{place.project}/notes")
    expect(page).to_have_title(re.compile("^visited project"))
    admin.goto("/dashboard")
    visited = page.get_by_role("navigation", name="Projects that you visited last")
    expect(visited.get_by_role("link").first).to_contain_text(place.project_name)
    visited.get_by_role("link").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(place.project_name)
