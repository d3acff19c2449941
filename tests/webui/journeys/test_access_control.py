"""Users, groups and roles: what administrators give, what others see, and what is taken away."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.cluster import PASSWORD, Cluster, until
from tests.webui.scene import SAVES, Place, new_name, new_place
from tests.webui.tables import act_on, row_of

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("webui-ruled")]

SOON_MS = 15_000
"""A change of rights is seen without a reload: rights are asked for once, then they are pushed."""


@pytest.fixture(scope="module")
def place(ruled: Cluster) -> Place:
    return new_place(ruled, "roles")


@pytest.fixture(scope="module")
def run(place: Place) -> int:
    experiment = place.submit(SAVES, checkpoint_storage={"save_trial_latest": 5})
    assert place.cluster.wait(experiment) == "COMPLETED"
    return experiment


@pytest.fixture
def admin(ruled: Cluster, visit: Any) -> Any:
    return visit(ruled.address)


def new_user(cluster: Cluster) -> tuple[str, int]:
    """Name and id of a user without roles."""
    name = new_name("user")
    user = {"username": name, "active": True}
    body = {"user": user, "password": PASSWORD, "isHashed": False}
    return name, int(cluster.post("/api/v1/users", body)["user"]["id"])


def change_role(
    cluster: Cluster, act: str, user: int, role: str, workspace: int | None = None
) -> None:
    """`add` or `remove` a role of a user; without a workspace in the whole cluster."""
    body = {"limit": 100, "offset": 0}
    found = cluster.post("/api/v1/roles/search", body)["roles"]
    number = next(each["roleId"] for each in found if each["name"] == role)
    scope = {"scopeCluster": True} if workspace is None else {"scopeWorkspaceId": workspace}
    assignment = {"userId": user, "roleAssignment": {"role": {"roleId": number}, **scope}}
    cluster.post(f"/api/v1/roles/{act}-assignments", {"userRoleAssignments": [assignment]})


def test_users_and_groups_are_made_and_get_roles(
    ruled: Cluster, place: Place, admin: Any, visit: Any
) -> None:
    user, group = new_name("user"), new_name("crew")
    page: Page = admin.goto("/admin/user-management")
    page.get_by_role("button", name="Add a user").click()
    dialog = page.get_by_role("dialog", name="Add a user")
    dialog.get_by_label("User name").first.fill(user)
    dialog.get_by_label("Password").fill("short")
    add = dialog.get_by_role("button", name="Add", exact=True)
    expect(add).to_have_attribute("aria-disabled", "true")
    dialog.get_by_label("Password").fill(PASSWORD)
    add.click()
    expect(dialog).to_be_hidden()
    page.get_by_label("Filter by name").fill(user)
    expect(row_of(page, "Users", user)).to_contain_text("Active")

    page.goto(admin.url("/admin/group-management"))
    page.get_by_role("button", name="New group").click()
    dialog = page.get_by_role("dialog", name="New group")
    dialog.get_by_label("Name").fill(group)
    dialog.get_by_label(user).check()
    dialog.get_by_role("button", name="Create").click()
    expect(row_of(page, "Groups", group)).to_contain_text("1")

    page.goto(admin.url(f"/workspaces/{place.workspace}/members"))
    page.get_by_role("button", name="Add members").click()
    dialog = page.get_by_role("dialog", name="Add a member")
    dialog.get_by_label("User or group").select_option(label=f"{group} (group)")
    dialog.get_by_label("Role").select_option(label="Viewer")
    dialog.get_by_role("button", name="Add").click()
    expect(row_of(page, "Members", group)).to_be_visible()
    members = ruled.get(f"/api/v1/roles/workspace/{place.workspace}")
    assert group in [each["name"] for each in members["groups"]]
    viewer = visit(ruled.address, user).goto(f"/workspaces/{place.workspace}")
    expect(viewer.get_by_role("heading", level=1)).to_have_text(place.name)


def test_a_viewer_sees_no_act_that_is_forbidden(
    ruled: Cluster, place: Place, run: int, visit: Any
) -> None:
    hidden = new_place(ruled, "hidden")
    name, number = new_user(ruled)
    change_role(ruled, "add", number, "Viewer", place.workspace)
    person = visit(ruled.address, name)
    page: Page = person.goto(f"/experiments/{run}/overview")
    page.get_by_role("button", name="More actions").click()
    for act in ("Kill", "Delete", "Archive", "Edit name", "Move to another project"):
        expect(page.get_by_role("menuitem", name=act)).to_have_count(0)
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Checkpoints", exact=True).click()
    expect(page.get_by_role("region", name="Checkpoints").get_by_role("row")).to_have_count(3)
    expect(page.get_by_role("button", name=re.compile("^Delete checkpoint"))).to_have_count(0)
    page.get_by_role("link", name="Notes", exact=True).click()
    expect(page.get_by_role("heading", name="Notes")).to_be_visible()
    expect(page.get_by_role("button", name="Edit", exact=True)).to_have_count(0)
    menu = page.get_by_role("navigation", name="Main")
    expect(menu.get_by_role("link", name="Administration")).to_have_count(0)
    for path in (
        "/admin/user-management",
        f"/workspaces/{hidden.workspace}/projects",
        f"/projects/{hidden.project}",
    ):
        page.goto(person.url(path))
        expect(page.get_by_role("heading", name="Not found").first).to_be_visible()
    page.goto(person.url("/webhooks"))
    expect(page.get_by_role("heading", name="No webhooks yet")).to_be_visible()
    expect(page.get_by_role("button", name="New webhook")).to_have_count(0)
    page.goto(person.url("/workspaces"))
    expect(page.get_by_role("link", name=place.name)).to_be_visible()
    expect(page.get_by_role("link", name=hidden.name)).to_have_count(0)
    expect(page.get_by_role("button", name="New workspace")).to_have_count(0)


def test_a_role_changes_the_page_within_seconds_both_ways(
    ruled: Cluster, place: Place, run: int, visit: Any
) -> None:
    name, number = new_user(ruled)
    change_role(ruled, "add", number, "Viewer", place.workspace)
    person = visit(ruled.address, name)
    page: Page = person.goto(f"/experiments/{run}/notes")
    menu = page.get_by_role("navigation", name="Main")
    expect(menu.get_by_role("link", name="Cluster")).to_be_visible()
    expect(menu.get_by_role("link", name="Administration")).to_have_count(0)
    change_role(ruled, "add", number, "ClusterAdmin")
    expect(menu.get_by_role("link", name="Administration")).to_be_visible(timeout=SOON_MS)
    expect(page.get_by_role("button", name="Edit", exact=True)).to_be_visible(timeout=SOON_MS)
    change_role(ruled, "remove", number, "ClusterAdmin")
    expect(menu.get_by_role("link", name="Administration")).to_have_count(0, timeout=SOON_MS)
    expect(page.get_by_role("button", name="Edit", exact=True)).to_have_count(0, timeout=SOON_MS)


def test_a_role_that_is_taken_away_hides_what_is_looked_at(
    ruled: Cluster, place: Place, run: int, visit: Any
) -> None:
    name, number = new_user(ruled)
    change_role(ruled, "add", number, "Editor", place.workspace)
    page: Page = visit(ruled.address, name).goto(f"/experiments/{run}/overview")
    expect(page.get_by_role("heading", level=1)).to_have_text(place.name)
    change_role(ruled, "remove", number, "Editor", place.workspace)
    expect(page.get_by_role("heading", name="Not found").first).to_be_visible(timeout=SOON_MS)
    expect(page.get_by_role("heading", name=place.name)).to_have_count(0)


def test_a_deactivated_user_is_signed_out(ruled: Cluster, admin: Any, visit: Any) -> None:
    name, number = new_user(ruled)
    person: Page = visit(ruled.address, name).goto("/dashboard")
    page: Page = admin.goto(f"/admin/user-management?q={name}")
    act_on(page, name, "Deactivate")
    expect(row_of(page, "Users", name)).to_contain_text("Inactive")
    until(lambda: not ruled.get(f"/api/v1/users/{number}")["user"]["active"], what="the change")
    expect(person.get_by_role("dialog", name="Sign in")).to_be_visible(timeout=SOON_MS)
    page.get_by_role("button", name="Undo").click()
    expect(row_of(page, "Users", name)).to_contain_text("Active")
