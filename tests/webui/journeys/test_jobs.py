"""The page of all jobs: what runs or waits in all pools, and what holds it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.webui.conftest import Site
from tests.webui.scene import Place, new_name, new_place

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("webui-2")]


@pytest.fixture(scope="module")
def place(site: Site) -> Iterator[Place]:
    made = new_place(site.cluster, "jobs")
    yield made
    made.kill_commands()


def test_waiting_jobs_of_any_pool_are_listed_with_their_reason(place: Place, admin: Any) -> None:
    word = new_name("job")
    runs, waits = f"{word} runs", f"{word} waits"
    place.command(description=runs)
    # An experiment of the seed has one of the eight slots.
    place.command(description=waits, resources={"slots": 8, "priority": 99})
    page: Page = admin.goto("/jobs")
    page.get_by_label("Filter by name").fill(word)
    jobs = page.get_by_role("grid", name="Jobs")
    waiting = jobs.get_by_role("row").filter(has_text=waits)
    running = jobs.get_by_role("row").filter(has_text=runs)
    expect(waiting).to_contain_text("Queued")
    expect(waiting).to_contain_text(re.compile("waits for 8 slots"))
    expect(waiting).to_contain_text("0 / 8")
    expect(waiting).to_contain_text("99")
    expect(waiting).to_contain_text("admin")
    expect(running).to_contain_text("Running")
    page.get_by_label("State", exact=True).select_option("Waiting")
    expect(running).to_have_count(0)
    expect(page).to_have_url(re.compile(r"[?&]q=job-"))
    expect(page).to_have_url(re.compile(r"[?&]state=waiting"))
    page.reload()
    expect(waiting).to_be_visible()
    expect(running).to_have_count(0)
    page.get_by_label("State", exact=True).select_option("Running")
    expect(running).to_be_visible()
    expect(waiting).to_have_count(0)
    running.get_by_role("link", name=runs).click()
    expect(page).to_have_url(re.compile(r"/command/[0-9a-f-]+/logs$"))


def test_a_job_is_explained_and_killed_and_leaves_the_page_by_itself(
    place: Place, admin: Any
) -> None:
    name = new_name("held")
    task = place.command(description=name, resources={"slots": 8, "priority": 99})
    page: Page = admin.goto(f"/jobs?q={name}")
    row = page.get_by_role("grid", name="Jobs").get_by_role("row").filter(has_text=name)
    row.click(button="right")
    page.get_by_role("menuitem", name="Why does it wait?").click()
    dialog = page.get_by_role("dialog", name=f"Why {name} waits")
    expect(dialog).to_contain_text(re.compile("waits for 8 slots", re.IGNORECASE))
    page.keyboard.press("Escape")
    row.click(button="right")
    page.get_by_role("menuitem", name="Kill").click()
    page.get_by_role("dialog", name=re.compile("Kill command")).get_by_role(
        "button", name="Kill"
    ).click()
    expect(page.get_by_text("No job matches")).to_be_visible()
    expect(row).to_have_count(0)
    shown = place.cluster.get(f"/api/v1/commands/{task}")["command"]
    assert shown["description"] == name
