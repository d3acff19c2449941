"""Launch dialogs: a form and its YAML, checked by the master while one types."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.cluster import until
from tests.webui.conftest import Site
from tests.webui.scene import Place, new_name, new_place

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("webui-2")]


@pytest.fixture(scope="module")
def place(site: Site) -> Iterator[Place]:
    made = new_place(site.cluster, "launch")
    yield made
    made.kill_commands()


def test_a_command_is_launched_by_its_form(place: Place, admin: Any) -> None:
    name = new_name("hello")
    page: Page = admin.page
    page.goto(admin.url("/tasks?launch=command"))
    dialog = page.get_by_role("dialog", name="Run a command")
    dialog.get_by_label("Name", exact=True).fill(name)
    dialog.get_by_label("Workspace").select_option(place.name)
    dialog.get_by_label("Command", exact=True).fill("echo it was launched")
    dialog.get_by_label("Slots", exact=True).fill("0")
    dialog.get_by_role("button", name="Run", exact=True).click()
    expect(page).to_have_url(re.compile("/command/[0-9a-f-]+/logs$"))
    expect(page.get_by_text("it was launched", exact=True)).to_be_visible(timeout=60_000)
    commands = place.cluster.get("/api/v1/commands", workspaceId=place.workspace)["commands"]
    assert name in [each["description"] for each in commands]


def test_a_wrong_configuration_is_refused_at_its_line(place: Place, admin: Any) -> None:
    page: Page = admin.page
    page.goto(admin.url("/tasks?launch=command"))
    dialog = page.get_by_role("dialog", name="Run a command")
    dialog.get_by_label("Workspace").select_option(place.name)
    dialog.get_by_label("Command", exact=True).fill("true")
    dialog.get_by_label("Slots", exact=True).fill("9000")
    run = dialog.get_by_role("button", name="Run", exact=True)
    expect(dialog).to_contain_text(re.compile("slots", re.IGNORECASE))
    expect(run).to_have_attribute("aria-disabled", "true")
    dialog.get_by_role("radio", name="YAML").click()
    expect(dialog.get_by_role("textbox").filter(has_text="9000")).to_be_visible()
    page.keyboard.press("Escape")
    question = page.get_by_role("dialog", name=re.compile("Discard"))
    expect(question).to_be_visible()
    question.get_by_role("button", name="Discard").click()
    expect(dialog).to_have_count(0)
    until(lambda: not running(place), what="that nothing was launched")


def running(place: Place) -> list[str]:
    commands = place.cluster.get("/api/v1/commands", workspaceId=place.workspace)["commands"]
    return [each["id"] for each in commands if each["state"] == "STATE_RUNNING"]
