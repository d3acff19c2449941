"""A workspace from its creation to its end."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.e2e.cluster import until
from tests.webui.conftest import Site
from tests.webui.work import ended, new_name, new_place, paused

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("webui")]

BROKEN = "type: shared_fs\nhost_path: [/data\n"
REFUSED = "type: shared_fs\nhost_path: 7\n"
RIGHT = "type: shared_fs\nhost_path: /data/checkpoints\n"


def card_of(page: Page, name: str) -> Locator:
    return page.get_by_role("main").get_by_role("listitem").filter(has_text=name)


def choose(page: Page, name: str, act: str) -> None:
    """An act of a workspace's menu."""
    page.get_by_role("button", name=f"Actions for {name}").click()
    page.get_by_role("menuitem", name=re.compile(f"^{act}")).click()


def test_a_workspace_is_made_and_edited(site: Site, admin: Any) -> None:
    cluster, name = site.cluster, new_name("made")
    page = admin.goto("/workspaces")
    page.get_by_role("button", name="New workspace").click()
    dialog = page.get_by_role("dialog", name="New workspace")
    storage = dialog.get_by_label("Checkpoint storage (YAML)")
    dialog.get_by_label("Name", exact=True).fill(name)
    storage.fill(BROKEN)
    expect(dialog.get_by_text("Line 3:")).to_be_visible()
    expect(dialog.get_by_role("button", name="Create")).to_have_attribute("aria-disabled", "true")
    storage.fill(REFUSED)
    dialog.get_by_role("button", name="Create").click()
    expect(storage).to_have_attribute("aria-invalid", "true")
    expect(dialog.get_by_text("Line 2:")).to_contain_text("host_path")
    expect(dialog.get_by_label("Name", exact=True)).to_have_value(name)
    storage.fill(RIGHT)
    dialog.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    [made] = cluster.get("/api/v1/workspaces", name=name)["workspaces"]
    stored = cluster.get(f"/api/v1/workspaces/{made['id']}")["workspace"][
        "checkpointStorageConfig"
    ]
    assert stored["host_path"] == "/data/checkpoints"
    page.get_by_role("button", name="Actions of the workspace").click()
    page.get_by_role("menuitem", name="Edit").click()
    dialog = page.get_by_role("dialog")
    storage = dialog.get_by_label("Checkpoint storage (YAML)")
    expect(storage).to_have_value(re.compile("^host_path: /data/checkpoints$", re.MULTILINE))
    dialog.get_by_label("Name", exact=True).fill(f"{name} renamed")
    dialog.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"{name} renamed")


def test_a_workspace_is_pinned_and_archived_and_both_are_undone(site: Site, admin: Any) -> None:
    place = new_place(site.cluster, "kept")
    name, path = place.workspace_name, f"/api/v1/workspaces/{place.workspace}"
    page = admin.goto(f"/workspaces?q={name}")
    pinned = page.get_by_role("navigation", name="Main").get_by_role("link", name=name)
    expect(pinned).to_be_visible()  # who creates a workspace has it pinned
    choose(page, name, "Unpin")
    expect(pinned).to_be_hidden()
    choose(page, name, "Pin")
    expect(pinned).to_be_visible()
    choose(page, name, "Archive")
    expect(card_of(page, name)).to_be_hidden()
    assert site.cluster.get(path)["workspace"]["archived"]
    page.get_by_label("Archived").click()
    expect(card_of(page, name)).to_contain_text("Archived")
    choose(page, name, "Unarchive")
    expect(card_of(page, name)).not_to_contain_text("Archived")
    page.get_by_label("Archived").click()
    choose(page, name, "Archive")
    expect(card_of(page, name)).to_be_hidden()  # the message of this act is there by now
    page.get_by_role("status").get_by_role("button", name="Undo").last.click()
    expect(card_of(page, name)).to_be_visible()
    assert not site.cluster.get(path)["workspace"]["archived"]


def test_a_workspace_is_deleted_with_what_the_question_names(site: Site, admin: Any) -> None:
    cluster = site.cluster
    place = new_place(cluster, "deleted")
    name = place.workspace_name
    ended(cluster, place, "deleted with it")
    paused(cluster, place, "killed with it")
    page = admin.goto(f"/workspaces?q={name}")
    expect(card_of(page, name)).to_contain_text("2 experiments")
    choose(page, name, "Delete")
    dialog = page.get_by_role("dialog", name=f"Delete workspace {name}?")
    expect(dialog).to_contain_text("2 experiments")
    expect(dialog).to_contain_text("1 experiment that did not end yet will be killed.")
    dialog.get_by_role("button", name="Cancel").click()
    expect(card_of(page, name)).to_be_visible()
    choose(page, name, "Delete")
    dialog.get_by_role("button", name="Delete").click()
    until(lambda: not cluster.get("/api/v1/workspaces", name=name).get("workspaces"))
    expect(card_of(page, name)).to_be_hidden(timeout=60_000)
