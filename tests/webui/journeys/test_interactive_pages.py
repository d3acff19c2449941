"""Notebooks and TensorBoards: waiting for their page, the page in its frame, their end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.cluster import Cluster, until
from tests.webui.conftest import Site
from tests.webui.scene import SAVES, Place, gate, new_name, new_place
from tests.webui.servers import install
from tests.webui.tables import act_on, confirm

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("webui-2")]


@pytest.fixture(scope="module")
def place(site: Site) -> Iterator[Place]:
    made = new_place(site.cluster, "pages")
    yield made
    for kind in ("notebook", "tensorboard"):
        for task in site.cluster.get(f"/api/v1/{kind}s", workspaceId=made.workspace)[f"{kind}s"]:
            site.cluster.post(f"/api/v1/{kind}s/{task['id']}/kill")


@pytest.fixture(scope="module")
def path(site: Site) -> str:
    """A PATH with programs that stand for JupyterLab and TensorBoard."""
    return install(site.cluster.root / new_name("bin"))


def state(cluster: Cluster, kind: str, task: str) -> str:
    return str(cluster.get(f"/api/v1/{kind}s/{task}")[kind]["state"]).removeprefix("STATE_")


def test_a_notebook_is_shared_and_the_share_taken_back(
    place: Place, path: str, admin: Any
) -> None:
    _, changes = gate(place.cluster)  # it waits, and nobody opens it
    changes["environment"]["environment_variables"].append(f"PATH={path}")
    name = new_name("lent")
    config = {"description": name, "resources": {"slots": 0}, **changes}
    body = {"config": config, "workspaceId": place.workspace}
    task = place.cluster.post("/api/v1/notebooks", body)["notebook"]["id"]

    def users() -> list[str]:
        shares = place.cluster.get(f"/api/v1/tasks/{task}/shares")["shares"]
        return [share["username"] for share in shares]

    page: Page = admin.goto(f"/tasks?workspace={place.workspace}")
    dialog = page.get_by_role("dialog", name=f"Share notebook {name}")
    for expected in (["determined"], []):
        act_on(page, name, "Share")
        dialog.get_by_label("determined", exact=True).set_checked(bool(expected))
        dialog.get_by_role("button", name="Save").click()
        expect(dialog).to_have_count(0)
        assert users() == expected
    act_on(page, name, "Share")
    expect(dialog.get_by_label("determined", exact=True)).not_to_be_checked()
    dialog.get_by_role("button", name="Cancel").click()


def test_a_notebook_is_waited_for_shown_in_a_frame_and_killed(
    place: Place, path: str, admin: Any
) -> None:
    cluster = place.cluster
    opened, changes = gate(cluster)
    changes["environment"]["environment_variables"].append(f"PATH={path}")
    name = new_name("explore")
    config = {"description": name, "resources": {"slots": 0}, **changes}
    body = {"config": config, "workspaceId": place.workspace}
    task = cluster.post("/api/v1/notebooks", body)["notebook"]["id"]
    page: Page = admin.goto(f"/wait/notebook/{task}")
    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    until(lambda: "asleep" in cluster.task_text(task), what="the server's start")
    frames = page.locator("iframe")
    expect(frames).to_have_count(0)  # nothing serves yet
    opened.touch()
    frame = page.frame_locator("iframe")
    expect(frame.get_by_role("heading", name="Notebook is served")).to_be_visible(timeout=60_000)
    # The page in the frame is hostile: it saw no cookie and could not lead the person away.
    expect(frame.locator("#cookies")).to_have_text("cookies: []")
    expect(page).to_have_url(admin.url(f"/wait/notebook/{task}"))
    refused = [fault for fault in admin.faults if "Unsafe attempt to initiate navigation" in fault]
    assert refused, admin.faults
    admin.faults = [fault for fault in admin.faults if fault not in refused]
    assert admin.context.request.get(f"{admin.address}/api/v1/me").ok

    page.goto(admin.url("/tasks"))
    act_on(page, name, "Kill")
    confirm(page, "Kill")
    expect(page.get_by_role("status").filter(has_text=f"Killed {name}")).to_be_visible()
    until(lambda: state(cluster, "notebook", task) == "TERMINATED", what="the end")
    page.goto(admin.url(f"/wait/notebook/{task}"))
    expect(page.get_by_role("heading", name="The task has ended")).to_be_visible()
    expect(page.locator("iframe")).to_have_count(0)


def test_a_running_tensorboard_is_used_again(place: Place, path: str, admin: Any) -> None:
    cluster = place.cluster
    experiment = place.submit(SAVES.replace("MANUAL", "AUTO"))
    assert cluster.wait(experiment) == "COMPLETED"
    variables = {"environment_variables": [f"PATH={path}"]}
    body = {
        "config": {"environment": variables},
        "experimentIds": [experiment],
        "workspaceId": place.workspace,
    }
    task = cluster.post("/api/v1/tensorboards", body)["tensorboard"]["id"]
    page: Page = admin.goto(f"/experiments/{experiment}/overview")
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Open TensorBoard").click()
    expect(page).to_have_url(admin.url(f"/wait/tensorboard/{task}"))
    frame = page.frame_locator("iframe")
    expect(frame.get_by_role("heading", name="Board of 1 runs")).to_be_visible(timeout=60_000)
    listed = cluster.get("/api/v1/tensorboards", workspaceId=place.workspace)["tensorboards"]
    assert [each["id"] for each in listed] == [task]
