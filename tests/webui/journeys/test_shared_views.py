"""Shared views where roles decide: who sees them, who changes them, what a refusal leaves."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.cluster import Cluster
from tests.webui.journeys.test_access_control import change_role, new_user
from tests.webui.journeys.test_views import choose, views
from tests.webui.lists import ask, expect_rows
from tests.webui.work import Place, Run, new_name, new_place, record

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("webui-ruled")]


@pytest.fixture(scope="module")
def place(ruled: Cluster) -> Place:
    return new_place(ruled, "shared views")


@pytest.fixture(scope="module")
def runs(ruled: Cluster, place: Place) -> dict[str, int]:
    return {
        name: record(ruled, place, name, [Run({"lr": 0.1}, [1.0])])[1][0]
        for name in ("odd", "even")
    }


def shared_view(cluster: Cluster, place: Place, scope: str = "project") -> str:
    """A view of the admin's that asks for the odd run."""
    name = new_name("view of some")
    state = {"list": "runs", "query": "name:odd"}
    body = {"name": name, "scope": scope, "state": state}
    cluster.post(f"/api/ui/v1/projects/{place.project}/views", body)
    return name


def visitor(cluster: Cluster, place: Place, role: str, visit: Any) -> Page:
    """The list of runs as a new user with one role sees it."""
    user, number = new_user(cluster)
    change_role(cluster, "add", number, role, place.workspace)
    page: Page = visit(cluster.address, user).goto(f"/projects/{place.project}/runs")
    return page


@pytest.mark.parametrize("scope", ["project", "workspace"])
def test_a_viewer_uses_a_shared_view_and_may_not_change_it(
    ruled: Cluster, place: Place, runs: dict[str, int], visit: Any, scope: str
) -> None:
    name = shared_view(ruled, place, scope)
    page = visitor(ruled, place, "Viewer", visit)
    choose(page, re.compile(re.escape(name)))
    expect_rows(page, [runs["odd"]])
    ask(page, "name:even")
    expect_rows(page, [runs["even"]])
    views(page).click()
    for act in (f"Save “{name}”", "Delete the view", "Open first in this project"):
        entry = page.get_by_role("menuitem", name=act)
        expect(entry).to_have_attribute("aria-disabled", "true")
        expect(entry).to_have_attribute("title", "Others may not change this view.")
    page.keyboard.press("Escape")
    expect_rows(page, [runs["even"]])


def test_a_viewer_who_may_not_share_keeps_what_they_typed(
    ruled: Cluster, place: Place, runs: dict[str, int], visit: Any
) -> None:
    page = visitor(ruled, place, "Viewer", visit)
    ask(page, "name:even")
    expect_rows(page, [runs["even"]])
    name = new_name("view of some")
    choose(page, "Save as a new view…")
    dialog = page.get_by_role("dialog", name="Save as a new view")
    dialog.get_by_label("Name").fill(name)
    dialog.get_by_role("radio", name="Project").check()
    dialog.get_by_role("button", name="Save").click()
    refusal = page.get_by_text(re.compile("lacks .*; a private view needs none"))
    expect(refusal).to_be_visible()
    expect(dialog.get_by_label("Name")).to_have_value(name)
    dialog.get_by_role("radio", name="Only me").check()
    dialog.get_by_role("button", name="Save").click()
    expect(views(page)).to_have_text(name)
    expect_rows(page, [runs["even"]])


def test_an_editor_changes_a_view_that_another_shared(
    ruled: Cluster, place: Place, runs: dict[str, int], visit: Any
) -> None:
    name = shared_view(ruled, place)
    page = visitor(ruled, place, "Editor", visit)
    choose(page, re.compile(re.escape(name)))
    expect_rows(page, [runs["odd"]])
    ask(page, "name:even")
    expect_rows(page, [runs["even"]])
    choose(page, f"Save “{name}”")
    expect(views(page)).to_have_text(name)
    page.reload()
    expect_rows(page, [runs["even"]])
    expect(views(page)).not_to_contain_text("modified")
