"""A model from its creation to its deletion: versions, alias, metadata, notes, lineage, move."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect
from tests.webui.conftest import Site
from tests.webui.scene import SAVES, Place, new_name, new_place
from tests.webui.tables import act_on, cells, choose, confirm, row_of

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("webui-2")]


def address(name: str) -> str:
    """The page of a model, whose name may have slashes."""
    return f"/models/{quote(name, safe='')}"


@pytest.fixture(scope="module")
def place(site: Site) -> Place:
    return new_place(site.cluster, "models")


@pytest.fixture(scope="module")
def checkpoints(place: Place) -> list[dict[str, Any]]:
    storage = {"save_trial_latest": 5}
    experiment = place.submit(SAVES, hyperparameters={"lr": 0.5}, checkpoint_storage=storage)
    assert place.cluster.wait(experiment) == "COMPLETED"
    return place.checkpoints(experiment)


def test_a_model_is_created_found_and_its_versions_arrive_by_themselves(
    place: Place, checkpoints: list[dict[str, Any]], admin: Any
) -> None:
    name = new_name("team/model")
    page: Page = admin.goto(f"/workspaces/{place.workspace}/models")
    page.get_by_role("button", name="New model").click()
    dialog = page.get_by_role("dialog", name="New model")
    dialog.get_by_label("Name").fill(name)
    dialog.get_by_label("Description").fill("Finds things")
    dialog.get_by_label("Tags").fill("vision, nightly")
    dialog.get_by_role("button", name="Create").click()
    expect(page).to_have_url(admin.url(address(name)))
    stored = place.cluster.get(f"/api/v1/models/{name}")["model"]
    assert (stored["description"], stored["labels"]) == ("Finds things", ["vision", "nightly"])
    assert stored["workspaceId"] == place.workspace

    expect(page.get_by_role("heading", name="0 versions")).to_be_visible()
    for each in checkpoints:
        body = {"checkpointUuid": each["uuid"]}
        place.cluster.post(f"/api/v1/models/{name}/versions", body)
    expect(page.get_by_role("heading", name=f"{len(checkpoints)} versions")).to_be_visible()
    rows = cells(page, f"Versions of {name}")
    assert [row[1] for row in rows] == ["v2", "v1"]

    page.goto(admin.url("/models?tag=nightly"))
    page.get_by_label("Filter by name or description").fill(name)
    expect(row_of(page, "Models", name)).to_contain_text("Finds things")
    expect(row_of(page, "Models", "detector")).to_have_count(0)


def test_a_version_has_an_alias_metadata_notes_and_both_ways_of_its_lineage(
    place: Place, checkpoints: list[dict[str, Any]], admin: Any
) -> None:
    name = place.model(checkpoints)
    training = checkpoints[1]["training"]
    page: Page = admin.goto(f"/models/{name}/versions/2")
    run = page.get_by_role("link", name=str(training["trialId"]), exact=True)
    expect(run).to_have_attribute("href", re.compile(f"/trials/{training['trialId']}/overview$"))
    choose(page, "Actions of the version", "Edit")
    dialog = page.get_by_role("dialog", name=f"Edit version 2 of {name}")
    dialog.get_by_label("Name").fill("champion")
    dialog.get_by_label("Tags").fill("live")
    dialog.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("champion (v2)")

    page.get_by_role("link", name="Metadata").click()
    page.get_by_role("button", name="Edit").click()
    editor = page.get_by_label("Metadata (YAML)")
    editor.fill("team: [")
    expect(page.get_by_role("button", name="Save")).to_have_attribute("aria-disabled", "true")
    editor.fill("team: vision\nscore: 3")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("definition").filter(has_text="vision")).to_be_visible()

    page.get_by_role("navigation", name="Sections").get_by_role("link", name="Notes").click()
    # Until the notes are loaded the metadata stay, and have an Edit of their own.
    expect(page.get_by_role("definition").filter(has_text="vision")).to_have_count(0)
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Notes (Markdown)").fill("**best** <script>window.ran = 1</script>")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("strong", has_text="best")).to_be_visible()
    assert page.evaluate("window.ran === undefined")
    stored = place.cluster.get(f"/api/v1/models/{name}/versions/2")["modelVersion"]
    assert (stored["name"], stored["labels"]) == ("champion", ["live"])
    assert stored["metadata"] == {"team": "vision", "score": 3}
    assert stored["notes"] == "**best** <script>window.ran = 1</script>"

    page.goto(admin.url(f"/trials/{training['trialId']}/checkpoints"))
    page.get_by_role("button", name=checkpoints[1]["uuid"][:8]).first.click()
    drawer = page.get_by_role("dialog", name=re.compile("Checkpoint"))
    drawer.get_by_role("link", name=f"{name} v2").click()
    expect(page).to_have_url(admin.url(f"/models/{name}/versions/2/overview"))


def test_two_versions_are_compared(
    place: Place, checkpoints: list[dict[str, Any]], admin: Any
) -> None:
    name = place.model(checkpoints)
    page: Page = admin.goto(f"/models/{name}")
    for version in ("Version 1", "Version 2"):
        page.get_by_label(f"Select {version}").check()
    page.get_by_role("link", name="Compare 1 and 2").click()
    table = page.get_by_role("region", name="Differences")
    for each in checkpoints:
        expect(table.get_by_role("cell", name=each["uuid"])).to_be_visible()
    losses = [c["training"]["validationMetrics"]["avgMetrics"]["loss"] for c in checkpoints]
    row = table.get_by_role("row").filter(has=page.get_by_role("cell", name="loss", exact=True))
    expect(row.get_by_role("cell")).to_have_text(["loss", *(f"{loss:g}" for loss in losses)])
    expect(table.get_by_role("cell", name="lr", exact=True)).to_have_count(0)
    page.get_by_label("Equal values too").click()
    expect(table.get_by_role("cell", name="lr", exact=True)).to_be_visible()


def test_a_model_is_moved_archived_and_deleted(place: Place, admin: Any) -> None:
    other = new_place(place.cluster, "models")
    name = new_name("team/model")
    place.cluster.post("/api/v1/models", {"name": name, "workspaceId": place.workspace})
    page: Page = admin.goto(address(name))
    choose(page, "Actions of the model", "Move")
    dialog = page.get_by_role("dialog", name=f"Move model {name}")
    dialog.get_by_label("Workspace").select_option(label=other.name)
    dialog.get_by_role("button", name="Move").click()
    expect(page.get_by_role("main").get_by_role("link", name=other.name)).to_be_visible()
    assert place.cluster.get(f"/api/v1/models/{name}")["model"]["workspaceId"] == other.workspace

    choose(page, "Actions of the model", "Archive")
    expect(page.get_by_text("Archived", exact=True)).to_be_visible()
    page.get_by_role("button", name="Actions of the model").click()
    expect(page.get_by_role("menuitem", name="Edit")).to_be_disabled()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Archived", exact=True)).to_have_count(0)

    page.goto(admin.url(f"/models?q={name}"))
    act_on(page, name, "Delete")
    confirm(page, "Delete")
    expect(page.get_by_role("heading", name="No model matches")).to_be_visible()
    page.goto(admin.url(address(name)))
    expect(page.get_by_role("heading", name="Not found").first).to_be_visible()
