"""The list of tasks: all kinds, filters in the address, acts on one and on several."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.cluster import until
from tests.webui.conftest import Site
from tests.webui.scene import Place, new_name, new_place
from tests.webui.tables import act_on, cells, confirm, open_acts, row_of

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("webui-2")]


@pytest.fixture(scope="module")
def place(site: Site) -> Iterator[Place]:
    made = new_place(site.cluster, "tasks")
    yield made
    made.kill_commands()


def names(page: Page) -> list[str]:
    return [next(text for text in row if text) for row in cells(page, "Tasks")]


def state(place: Place, task: str) -> str:
    found = place.cluster.get(f"/api/v1/commands/{task}")["command"]["state"]
    return str(found).removeprefix("STATE_")


def test_tasks_are_found_by_kind_workspace_and_name(place: Place, admin: Any) -> None:
    first, second = new_name("tidy"), new_name("sort")
    place.command(description=first)
    page: Page = admin.goto(f"/tasks?workspace={place.workspace}")
    expect(row_of(page, "Tasks", first)).to_be_visible()
    place.command(description=second)  # it appears without a reload
    expect(row_of(page, "Tasks", second)).to_be_visible()
    listed = place.cluster.get("/api/v1/commands", workspaceId=place.workspace)["commands"]
    assert sorted(names(page)) == sorted(each["description"] for each in listed)
    page.get_by_label("Search by name").fill(second)
    expect(row_of(page, "Tasks", first)).to_have_count(0)
    assert names(page) == [second]
    page.get_by_label("Search by name").fill("")
    page.get_by_label("Kind", exact=True).select_option("notebook")
    expect(page.get_by_role("heading", name="No task matches")).to_be_visible()
    page.reload()  # the filters are in the address
    expect(page.get_by_label("Kind", exact=True)).to_have_value("notebook")
    page.get_by_label("Kind", exact=True).select_option("command")
    expect(row_of(page, "Tasks", second)).to_be_visible()


def test_a_task_is_killed_and_listed_among_the_ended(place: Place, admin: Any) -> None:
    name = new_name("stop")
    task = place.command(description=name)
    admin.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page: Page = admin.goto(f"/tasks?workspace={place.workspace}")
    act_on(page, name, "Copy the det command")
    assert page.evaluate("navigator.clipboard.readText()") == f"det command logs -f {task}"
    until(lambda: state(place, task) == "RUNNING", what="its start")
    act_on(page, name, "Kill")
    confirm(page, "Kill")
    until(lambda: state(place, task) == "TERMINATED", what="its end")
    expect(row_of(page, "Tasks", name)).to_have_count(0)
    page.get_by_label("Show ended ones").click()
    expect(row_of(page, "Tasks", name)).to_contain_text("Terminated")
    open_acts(page, name)
    expect(page.get_by_role("menuitem", name="Kill")).to_be_disabled()


def test_several_tasks_are_killed_at_once(place: Place, admin: Any) -> None:
    kept, *wanted = (new_name(word) for word in ("keep", "end", "end"))
    tasks = {name: place.command(description=name) for name in (kept, *wanted)}
    page: Page = admin.goto(f"/tasks?workspace={place.workspace}")
    for name in wanted:
        page.get_by_label(f"Select {name}").check()
    page.get_by_role("region", name="Selection").get_by_role("button", name="Kill 2").click()
    confirm(page, "Kill 2 tasks")
    for name in wanted:
        until(lambda name=name: state(place, tasks[name]) == "TERMINATED", what="its end")
        expect(row_of(page, "Tasks", name)).to_have_count(0)
    expect(row_of(page, "Tasks", kept)).to_be_visible()
    assert state(place, tasks[kept]) != "TERMINATED"


def test_the_log_of_a_task_opens_by_keyboard(place: Place, admin: Any) -> None:
    name = new_name("open")
    task = place.command(description=name)
    page: Page = admin.goto(f"/tasks?workspace={place.workspace}&q={name}")
    expect(row_of(page, "Tasks", name)).to_be_visible()
    page.get_by_role("grid", name="Tasks").press("j")
    page.keyboard.press("Enter")
    expect(page).to_have_url(admin.url(f"/command/{task}/logs"))
