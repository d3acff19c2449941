"""Access tokens: shown once, used, revoked; a page whose session is revoked asks to sign in."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.cluster import PASSWORD, Cluster
from tests.webui.conftest import Site
from tests.webui.scene import new_name
from tests.webui.tables import confirm, row_of

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("webui-2")]


def status_with(visitor: Any, token: str) -> int:
    """How the master answers a request with a token."""
    headers = {"authorization": f"Bearer {token}", "cookie": ""}
    return int(visitor.context.request.get(f"{visitor.address}/api/v1/me", headers=headers).status)


def test_a_token_is_shown_once_used_and_revoked(site: Site, admin: Any) -> None:
    purpose = new_name("nightly")
    page: Page = admin.goto("/admin/tokens")
    page.get_by_role("button", name="New token").click()
    dialog = page.get_by_role("dialog", name="New access token")
    dialog.get_by_label("User").select_option(label="ada")
    dialog.get_by_label("Expires after").select_option(label="7 days")
    dialog.get_by_label("Description").fill(purpose)
    dialog.get_by_role("button", name="Create").click()
    shown = page.get_by_role("dialog", name="Copy the token now")
    token = shown.locator("[data-secret]").inner_text()
    assert status_with(admin, token) == 200
    shown.get_by_role("button", name="Done").click()
    assert token not in page.content()
    row = row_of(page, "Access tokens", purpose)
    expect(row).to_contain_text("Valid")
    expect(row).to_contain_text("ada")

    row.hover()
    row.get_by_role("button", name="Actions on token").click()
    page.get_by_role("menuitem", name="Revoke").click()
    confirm(page, "Revoke")
    expect(row).to_have_count(0)
    page.get_by_label("Expired and revoked too").click()
    expect(row).to_contain_text("Revoked")
    assert status_with(admin, token) == 401


def new_token(cluster: Cluster, user: str) -> tuple[str, int]:
    """A token of a user, and its number."""
    number = cluster.get(f"/api/v1/users/{user}/by-username")["user"]["id"]
    body = {"userId": number, "lifespan": "24h", "description": new_name("page")}
    made = cluster.post("/api/v1/tokens", body)
    return str(made["token"]), int(made["tokenId"])


def test_a_page_whose_token_is_revoked_asks_to_sign_in(site: Site, visit: Any) -> None:
    token, number = new_token(site.cluster, "grace")
    person = visit(site.address, None)
    person.context.add_cookies([{"name": "auth", "value": token, "url": person.address}])
    page: Page = person.goto("/workspaces")
    site.cluster.session().patch(f"/api/v1/tokens/{number}", json={"setRevoked": True})
    dialog = page.get_by_role("dialog", name="Sign in")
    expect(dialog).to_be_visible(timeout=8000)
    dialog.get_by_label("Password").fill(PASSWORD)
    dialog.get_by_label("Password").press("Enter")
    expect(dialog).to_be_hidden()
    # The live channel is open again: what others do appears.
    name = new_name("later")
    page.get_by_role("link", name="Model registry").click()
    expect(page.get_by_role("grid", name="Models")).to_be_visible()
    site.cluster.post("/api/v1/models", {"name": name})
    expect(row_of(page, "Models", name)).to_be_visible(timeout=5000)
