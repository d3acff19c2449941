"""Actions on many trials: the dry run, the results, and what is undone."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.e2e.cluster import Cluster, until
from tests.webui.conftest import Site
from tests.webui.lists import expect_rows, select
from tests.webui.work import (
    Run,
    another_project,
    ended,
    listed,
    new_place,
    paused,
    record,
    run_of,
)

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("webui-2")]


def bar(page: Page) -> Locator:
    """The acts on the selection."""
    return page.get_by_role("region", name="Selection")


def more(page: Page, act: str) -> None:
    bar(page).get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name=act).click()


def become(cluster: Cluster, state: str, *experiments: int) -> None:
    """Wait until all have a state."""
    until(lambda: all(cluster.state(each) == state for each in experiments), what=f"state {state}")


def test_acts_say_who_is_eligible_and_do_it(site: Site, admin: Any) -> None:
    cluster = site.cluster
    place = new_place(cluster, "bulk")
    first, second = (paused(cluster, place, name) for name in ("first", "second"))
    third = ended(cluster, place, "third")
    ids = [run_of(cluster, each) for each in (first, second, third)]
    page = admin.goto(f"/projects/{place.project}/runs")
    expect_rows(page, sorted(ids, reverse=True))
    select(page, *ids)
    expect(bar(page)).to_contain_text("3 trials selected")

    bar(page).get_by_role("button", name="Resume").click()
    dialog = page.get_by_role("dialog", name="Resume 2 trials?")
    expect(dialog).to_contain_text("2 trials eligible, 1 trial left out: not paused")
    dialog.get_by_text("Left out").last.click()
    expect(dialog).to_contain_text(str(ids[2]))
    dialog.get_by_role("button", name="Resume 2 trials").click()
    expect(page.get_by_text("Resume: 2 trials.")).to_be_visible()
    until(
        lambda: {"PAUSED"}.isdisjoint(map(cluster.state, (first, second))), what="the resumption"
    )

    row, second_row = (
        page.get_by_role("row").filter(has_text=name) for name in ("first", "second")
    )
    # The dialog counts what the page shows at the click.
    for each in (row, second_row):
        expect(each).to_contain_text(re.compile("Running|Starting|Queued|Pulling"))
    bar(page).get_by_role("button", name="Pause").click()
    page.get_by_role("dialog", name="Pause 2 trials?").get_by_role("button", name="Pause").click()
    become(cluster, "PAUSED", first, second)
    expect(row).to_contain_text("Paused")

    more(page, "Kill")
    dialog = page.get_by_role("dialog", name="Kill 2 trials?")
    expect(dialog).to_contain_text("This cannot be undone.")
    dialog.get_by_role("button", name="Cancel").click()
    assert cluster.state(first) == "PAUSED"
    more(page, "Kill")
    dialog.get_by_role("button", name="Kill 2 trials").click()
    become(cluster, "CANCELED", first, second)
    expect(row).to_contain_text("Canceled")


def test_archive_and_move_are_undone(site: Site, admin: Any) -> None:
    cluster = site.cluster
    place = new_place(cluster, "undo")
    aside = another_project(cluster, place, "aside")
    ids = [record(cluster, place, f"run {n}", [Run({}, [1.0])])[1][0] for n in range(3)]
    page = admin.goto(f"/projects/{place.project}/runs")
    expect_rows(page, ids[::-1])
    select(page, ids[0], ids[1])
    bar(page).get_by_role("button", name="Archive").click()
    expect_rows(page, [ids[2]])
    expect(bar(page)).to_contain_text("2 trials selected, 2 not shown")
    assert {run["id"] for run in listed(cluster, place) if run["archived"]} == set(ids[:2])
    page.get_by_role("status").get_by_role("button", name="Undo").click()
    expect_rows(page, ids[::-1])

    more(page, "Move")
    dialog = page.get_by_role("dialog", name="Move to another project")
    dialog.get_by_label("Find a project").fill(f"{place.workspace_name}/aside")
    dialog.get_by_role("radio").check()
    dialog.get_by_role("button", name="Move").click()
    expect_rows(page, [ids[2]])
    moved = cluster.post("/api/v1/runs", {"projectId": aside, "limit": 10})["runs"]
    assert {run["id"] for run in moved} == set(ids[:2])
    page.get_by_text("Move: 2 trials.").locator("..").get_by_role("button", name="Undo").click()
    expect_rows(page, ids[::-1])
