"""Named views of a list, shared between persons."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.webui.conftest import Site
from tests.webui.lists import ask, expect_rows, grid
from tests.webui.work import Place, Run, listed, new_name, new_place, record

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("webui-2")]


@pytest.fixture(scope="module")
def place(site: Site) -> Place:
    made = new_place(site.cluster, "views")
    for number in range(6):
        run = Run({"lr": 0.01}, [1 + (number * 7 % 6)])
        record(site.cluster, made, f"view {number % 2}", [run])
    return made


def ids(site: Site, place: Place, name: str, sort: str) -> list[int]:
    runs = listed(site.cluster, place, "", sort)
    return [run["id"] for run in runs if run["experiment"]["name"] == name]


def views(page: Page) -> Locator:
    """The button that opens the menu of views."""
    return page.locator("button[aria-haspopup=menu]").filter(has_text=re.compile("Views|view of"))


def choose(page: Page, entry: str | re.Pattern[str]) -> None:
    views(page).click()
    page.get_by_role("menuitem", name=entry).click()


def test_a_view_is_shared_and_what_others_change_stays_theirs(
    site: Site, place: Place, admin: Any, visit: Any
) -> None:
    name = new_name("view of the odd")
    wanted = ids(site, place, "view 1", "searcherMetricsVal=asc")
    page = admin.goto(f"/projects/{place.project}/runs")
    ask(page, 'name:"view 1"')
    head = grid(page).get_by_role("columnheader", name="Searcher metric value")
    head.get_by_role("button").first.click()
    expect_rows(page, wanted)
    choose(page, "Save as a new view…")
    dialog = page.get_by_role("dialog", name="Save as a new view")
    expect(dialog.get_by_role("button", name="Save")).to_have_attribute("aria-disabled", "true")
    dialog.get_by_label("Name").fill(name)
    dialog.get_by_role("radio", name="Project").check()
    dialog.get_by_role("button", name="Save").click()
    expect(page).to_have_url(re.compile(r"\?view=\d+$"))
    expect_rows(page, wanted)
    expect(views(page)).to_have_text(name)

    ada = visit(site.address, "ada")
    other = ada.goto(f"/projects/{place.project}/runs")
    choose(other, re.compile(re.escape(name)))
    expect_rows(other, wanted)
    ask(other, 'name:"view 0"')
    expect_rows(other, ids(site, place, "view 0", "searcherMetricsVal=asc"))
    expect(views(other)).to_contain_text("modified")
    other.reload()
    expect(views(other)).to_contain_text("modified")

    page.reload()
    expect_rows(page, wanted)
    expect(views(page)).not_to_contain_text("modified")
    choose(other, "Undo the changes")
    expect_rows(other, wanted)


def test_a_private_view_is_the_owner_s_first_view(
    site: Site, place: Place, admin: Any, visit: Any
) -> None:
    name = new_name("view of mine")
    page = admin.goto(f"/projects/{place.project}/runs")
    ask(page, 'name:"view 0"')
    expect_rows(page, ids(site, place, "view 0", "id=desc"))
    choose(page, "Save as a new view…")
    dialog = page.get_by_role("dialog", name="Save as a new view")
    dialog.get_by_label("Name").fill(name)
    dialog.get_by_label("Open it first in this project").check()
    dialog.get_by_role("button", name="Save").click()
    expect(views(page)).to_have_text(name)
    admin.goto(f"/projects/{place.project}/runs")
    expect_rows(page, ids(site, place, "view 0", "id=desc"))
    other = visit(site.address, "grace").goto(f"/projects/{place.project}/runs")
    expect_rows(other, [run["id"] for run in listed(site.cluster, place, "", "id=desc")])
    views(other).click()
    expect(other.get_by_role("menuitem", name="Default columns")).to_be_visible()
    expect(other.get_by_role("menuitem", name=name)).to_have_count(0)
    choose(page, "Delete the view")
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect_rows(page, [run["id"] for run in listed(site.cluster, place, "", "id=desc")])
