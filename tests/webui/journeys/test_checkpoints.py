"""Checkpoints of a run: the list, their files, registering one, deleting with care."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.cluster import until
from tests.webui.conftest import Site
from tests.webui.scene import SAVES, Place, new_name, new_place
from tests.webui.tables import confirm, stat

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("webui-2")]


@pytest.fixture(scope="module")
def place(site: Site) -> Place:
    return new_place(site.cluster, "checkpoints")


@pytest.fixture(scope="module")
def run(place: Place) -> int:
    storage = {"save_trial_latest": 5}
    experiment = place.submit(SAVES, checkpoint_storage=storage)
    assert place.cluster.wait(experiment) == "COMPLETED"
    return experiment


def test_a_checkpoint_is_registered_and_then_cannot_be_deleted(
    place: Place, run: int, admin: Any
) -> None:
    first, second = place.checkpoints(run)
    page: Page = admin.goto(f"/experiments/{run}/checkpoints")
    rows = page.get_by_role("region", name="Checkpoints").get_by_role("row")
    expect(rows).to_have_count(3)  # with the header
    row = rows.filter(has_text=second["uuid"][:8])
    expect(row).to_contain_text("Completed")
    row.get_by_role("button", name=second["uuid"][:8]).first.click()

    drawer = page.get_by_role("dialog", name=re.compile("Checkpoint"))
    files = drawer.get_by_role("region", name="Files of the checkpoint").get_by_role("row")
    sizes = {path: int(size) for path, size in second["resources"].items()}
    assert sizes["weights.bin"] == 2000
    expect(files).to_have_count(len(sizes) + 1)
    expect(files.filter(has_text="weights.bin")).to_contain_text("1.95 KiB")
    expect(files.filter(has_text="notes.txt")).to_contain_text("5 B")

    model = new_name("model")
    drawer.get_by_role("button", name="Register as a model version").click()
    dialog = page.get_by_role("dialog", name="Register as a model version")
    dialog.get_by_label("Name of the new model").fill(model)
    dialog.get_by_role("button", name="Register").click()
    expect(page).to_have_url(admin.url(f"/models/{model}"))
    expect(page.get_by_role("heading", level=1)).to_have_text(model)
    versions = place.cluster.get(f"/api/v1/models/{model}/versions")["modelVersions"]
    assert [each["checkpoint"]["uuid"] for each in versions] == [second["uuid"]]

    page.goto(admin.url(f"/experiments/{run}/checkpoints"))
    page.get_by_role("button", name=f"Delete checkpoint {second['uuid']}").click()
    confirm(page, "Delete")
    refusal = page.get_by_role("alert").filter(has_text="cannot be deleted")
    expect(refusal).to_contain_text(f'version 1 of model "{model}"')
    assert [each["uuid"] for each in place.checkpoints(run)] == [first["uuid"], second["uuid"]]


def test_open_overviews_count_the_checkpoints_that_are_left(place: Place, admin: Any) -> None:
    experiment = place.submit(SAVES, checkpoint_storage={"save_trial_latest": 5})
    assert place.cluster.wait(experiment) == "COMPLETED"
    trial = place.trial(experiment)["id"]
    first = place.checkpoints(experiment)[0]
    page: Page = admin.goto(f"/experiments/{experiment}/overview")
    other = admin.context.new_page()
    other.goto(admin.url(f"/trials/{trial}/overview"))
    for each in (page, other):
        expect(stat(each, "Checkpoints")).to_have_text("2")
    body = {"checkpointUuids": [first["uuid"]]}
    place.cluster.session().delete("/api/v1/checkpoints", json=body)
    for each in (page, other):
        expect(stat(each, "Checkpoints")).to_have_text("1")


def test_a_checkpoint_that_no_model_has_is_deleted(place: Place, run: int, admin: Any) -> None:
    first = place.checkpoints(run)[0]
    page: Page = admin.goto(f"/experiments/{run}/checkpoints")
    listed = page.get_by_role("region", name="Checkpoints").get_by_role("row")
    deleting = page.get_by_role("button", name=f"Delete checkpoint {first['uuid']}")
    deleting.click()
    confirm(page, "Delete")
    until(
        lambda: first["uuid"] not in [each["uuid"] for each in place.checkpoints(run)],
        what="the deletion",
    )
    expect(listed).to_have_count(2)
    page.get_by_label("Show deleted ones (1)").click()
    expect(listed).to_have_count(3)
    expect(deleting).to_have_attribute("aria-disabled", "true")
