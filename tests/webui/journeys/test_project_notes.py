"""Notes of a project: pages, markup that stays inert, and two persons at once."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.webui.conftest import Site
from tests.webui.work import Place, new_place

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("webui")]

HOSTILE = """# Plan

<script>window.isHacked = true</script>
<img src=x onerror="window.isHacked = true">
[a link](javascript:window.isHacked=true)

| a | b |
|---|---|
| 1 | **two** |
"""


def stored(site: Site, place: Place) -> dict[str, str]:
    notes = site.cluster.get(f"/api/v1/projects/{place.project}")["project"]["notes"]
    return {note["name"]: note["contents"] for note in notes}


def store(site: Site, place: Place, **pages: str) -> None:
    notes = [{"name": name, "contents": text} for name, text in pages.items()]
    path = f"/api/v1/projects/{place.project}/notes"
    site.cluster.session().put(path, json={"notes": notes, "projectId": place.project})


def write(page: Page, name: str, text: str) -> None:
    page.get_by_label("Name of the page").fill(name)
    page.get_by_label("Markdown").fill(text)


def test_pages_are_written_and_their_markup_stays_inert(site: Site, admin: Any) -> None:
    place = new_place(site.cluster, "notes")
    page = admin.goto(f"/projects/{place.project}/notes")
    page.get_by_role("button", name="New page").click()
    write(page, "Plan", HOSTILE)
    page.get_by_role("button", name="New page").click()
    write(page, "Results", "All *good*.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("The notes are saved.")).to_be_visible()
    assert stored(site, place) == {"Plan": HOSTILE, "Results": "All *good*."}
    pages = page.get_by_role("navigation", name="Pages of notes")
    pages.get_by_role("button", name="Plan").click()
    expect(page.get_by_role("heading", name="Plan").last).to_be_visible()
    expect(page.get_by_role("cell", name="two")).to_be_visible()
    expect(page.get_by_role("link", name=re.compile("a link"))).to_have_count(0)
    assert page.evaluate("window.isHacked") is None
    page.reload()
    pages.get_by_role("button", name="Results").click()
    expect(page.get_by_text("All good.")).to_be_visible()


def test_a_link_does_not_lose_typed_text(site: Site, admin: Any) -> None:
    place = new_place(site.cluster, "guard")
    store(site, place, Plan="first")
    page = admin.goto(f"/projects/{place.project}/notes")
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Markdown").fill("typed")
    runs = page.get_by_role("navigation", name="Sections").get_by_role("link", name="Trials")
    runs.click()
    question = page.get_by_role("dialog", name="Discard what you typed?")
    question.get_by_role("button", name="Cancel").click()
    expect(page.get_by_label("Markdown")).to_have_value("typed")
    expect(page).to_have_url(re.compile("/notes$"))
    runs.click()
    question.get_by_role("button", name="Discard").click()
    expect(page).to_have_url(re.compile("/runs$"))
    assert stored(site, place) == {"Plan": "first"}


def test_two_persons_write_at_once(site: Site, admin: Any, visit: Any) -> None:
    place = new_place(site.cluster, "both")
    store(site, place, Plan="first", Other="same")
    mine = admin.goto(f"/projects/{place.project}/notes")
    second = visit(site.address)
    theirs = second.goto(f"/projects/{place.project}/notes")
    mine.get_by_role("button", name="Edit").click()
    mine.get_by_label("Markdown").fill("mine")
    theirs.get_by_role("button", name="Edit").click()
    theirs.get_by_label("Markdown").fill("theirs")
    theirs.get_by_role("button", name="Save").click()
    expect(theirs.get_by_text("The notes are saved.")).to_be_visible()
    mine.get_by_role("button", name="Save").click()
    clash = mine.get_by_role("dialog", name="Somebody else has changed the same page")
    expect(clash).to_contain_text("Plan")
    expect(clash.get_by_text("theirs", exact=True)).to_be_visible()
    clash.get_by_role("button", name="Edit on").click()
    expect(mine.get_by_label("Markdown")).to_have_value("mine")
    mine.get_by_role("button", name="Save").click()
    clash.get_by_role("button", name="Save mine").click()
    expect(clash).to_be_hidden()
    assert stored(site, place) == {"Plan": "mine", "Other": "same"}
    expect(theirs.get_by_role("main").get_by_text("mine", exact=True)).to_be_visible()
