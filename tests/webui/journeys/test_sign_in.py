"""Signing in: deep links, wrong and empty passwords, expiry, the command line's token."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.cluster_api import PASSWORD
from tests.webui.conftest import Site
from tests.webui.work import new_name

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("webui")]


def fill(page: Page, name: str | None, password: str) -> None:
    """Type into the sign-in form and submit it with Enter."""
    if name is not None:
        page.get_by_label("User name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_label("Password").press("Enter")


def test_a_deep_link_is_kept_over_the_sign_in(site: Site, visit: Any) -> None:
    person = visit(site.address, None)
    page: Page = person.page
    wanted = f"/experiments/{site.ids['experiments']['search']}/trials?sort=id"
    page.goto(person.url(wanted))
    expect(page).to_have_url(re.compile(r"/det/login\?redirect="))
    fill(page, "admin", "wrong")
    expect(page.get_by_label("Password")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("Password")).to_be_focused()
    expect(page.get_by_label("User name")).to_have_value("admin")
    fill(page, None, PASSWORD)
    expect(page).to_have_url(person.url(wanted))
    expect(page.get_by_role("heading", level=1)).to_contain_text("random search over lr")


def test_a_session_that_ends_keeps_what_is_typed(site: Site, visit: Any) -> None:
    person = visit(site.address, "ada")
    number = site.ids["experiments"]["search"]
    page = person.goto(f"/experiments/{number}/notes")
    page.get_by_role("button", name="Edit").click()
    editor = page.get_by_role("textbox").first
    editor.fill("typed before the session ended")
    page.evaluate("fetch('/api/v1/auth/logout', { method: 'POST' })")
    # The dialog may be there already: the live channel ends with the session.
    page.locator("main button", has_text="Save").dispatch_event("click")
    dialog = page.get_by_role("dialog", name="Sign in")
    expect(dialog).to_be_visible()
    fill(page, None, PASSWORD)
    expect(dialog).to_be_hidden()
    expect(editor).to_have_value("typed before the session ended")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("button", name="Edit")).to_be_visible()
    stored = site.cluster.get(f"/api/v1/experiments/{number}")["experiment"]["notes"]
    assert stored == "typed before the session ended"


def test_the_command_line_gets_a_token(site: Site, visit: Any) -> None:
    person = visit(site.address, None)
    page: Page = person.page
    page.goto(person.url("/login?cli=true"))
    fill(page, "admin", PASSWORD)
    token = page.locator("code").inner_text()
    answer = person.context.request.get(
        f"{site.address}/api/v1/me", headers={"authorization": f"Bearer {token}"}
    )
    assert answer.json()["user"]["username"] == "admin"


EMPTY = """
import asyncio, pathlib
import asyncpg
from determined_master.services.access.passwords import Passwords, client_hash
from determined_master.store.embedded.answers import connection_options
from determined_master.store.embedded.files import Layout

async def main() -> None:
    conn = await asyncpg.connect(**connection_options(Layout(pathlib.Path.cwd() / "db" / "pg")))
    stored = await Passwords().hash(client_hash(""))
    await conn.execute("UPDATE users SET password_hash = $1 WHERE username = $2", stored, NAME)
    await conn.close()

asyncio.run(main())
"""


def test_a_user_of_an_older_master_with_an_empty_password_is_warned(
    site: Site, visit: Any
) -> None:
    name = new_name("empty").replace(" ", "-")
    user = {"username": name, "active": True}
    site.cluster.post("/api/v1/users", {"user": user, "password": PASSWORD})
    site.cluster.run_script(
        EMPTY.replace("NAME", repr(name))
    )  # this master accepts no empty password, an older one did
    person = visit(site.address, None)
    page: Page = person.page
    page.goto(person.url("/login"))
    fill(page, name, "")
    expect(page.get_by_role("heading", level=1)).to_have_text("Home")
    expect(page.get_by_text("This user has an empty password.")).to_be_visible()


def test_a_sign_out_ends_the_session(site: Site, visit: Any) -> None:
    person = visit(site.address, "grace")
    page: Page = person.goto("/dashboard")
    page.get_by_role("button", name="User menu").click()
    page.get_by_role("menuitem", name="Sign out").click()
    expect(page).to_have_url(re.compile("/det/login"))
    assert person.context.request.get(f"{site.address}/api/v1/me").status == 401
    page.goto(person.url("/tasks"))
    expect(page).to_have_url(re.compile(r"/det/login\?redirect="))
