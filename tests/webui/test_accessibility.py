"""Every address: axe, reflow and sizes of targets in two themes and two sizes, the landmarks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.webui import addresses
from tests.webui.audit import codes, defects, small, wide
from tests.webui.axe import violations
from tests.webui.conftest import Site
from tests.webui.moving import move, settle, track

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("webui")]

GROUPS = ("shell", "lists", "experiment", "trial", "tasks", "cluster", "workspaces", "admin")
LANDMARKS = """() => {
  const count = (selector) => document.querySelectorAll(selector).length;
  const found = [];
  if (count("h1") !== 1) found.push(`${count("h1")} headings of the first level`);
  if (count("main") !== 1) found.push(`${count("main")} main elements`);
  if (!document.title || document.title === "Determined") found.push("no title of its own");
  if (document.documentElement.lang !== "en") found.push("no language");
  return found;
}"""


@pytest.fixture
def still(site: Site, visit: Callable[..., Any]) -> Page:
    """A page of the admin without motion, on the home page."""
    person = visit(site.address, reduced_motion="reduce")
    track(person.context)
    person.page.goto(person.url("/dashboard"))
    settle(person.page)
    page: Page = person.page
    return page


def test_every_route_of_the_sources_has_an_address_here(things: addresses.Things) -> None:
    groups = addresses.pages(things)
    known = {pattern for group in groups.values() for pattern in group}
    assert set(groups) == set(GROUPS)
    assert sorted(known | set(addresses.ALONE)) == addresses.listed()["pages"]


@pytest.mark.parametrize("group", GROUPS)
def test_pages_have_no_defect(group: str, things: addresses.Things, still: Page) -> None:
    found = []
    for pattern, listed in addresses.pages(things)[group].items():
        for address in listed:
            move(still, address)
            lines = still.evaluate(LANDMARKS)
            if not addresses.is_twin(pattern):
                lines += defects(still)
            found += [f"{address}: {line}" for line in dict.fromkeys(lines)]
    assert not found, "\n".join(found)


def test_pages_before_the_sign_in_have_no_defect(site: Site, visit: Callable[..., Any]) -> None:
    person = visit(site.address, None, reduced_motion="reduce")
    track(person.context)
    page: Page = person.page
    page.goto(person.url("/login"))
    settle(page)
    found = defects(page)
    page.get_by_label("User name").fill("admin")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_label("Password")).to_have_attribute("aria-invalid", "true")
    found += [f"after a refusal: {line}" for line in defects(page)]
    assert not found, "\n".join(found)


def test_the_sign_out_leads_to_the_sign_in(site: Site, visit: Callable[..., Any]) -> None:
    person = visit(site.address, "grace", reduced_motion="reduce")
    page: Page = person.page
    page.goto(person.url("/logout"))
    expect(page.get_by_label("Password")).to_be_visible()
    assert defects(page) == []


def test_planted_defects_are_found(site: Site, visit: Callable[..., Any]) -> None:
    page: Page = visit(site.address).page
    page.set_viewport_size({"width": 320, "height": 800})
    page.set_content("""<html data-theme=light><main style="width: 900px"><img src="data:,">
      <p style="color: #bbb; background: #fff">pale</p><button style="width: 12px">x</button>
      <p>type TYPE_CPU <code>TYPE_CUDA</code></p>""")
    page.evaluate("document.documentElement.dataset.theme = 'light'")
    lines = [*page.evaluate(LANDMARKS), *violations(page), *small(page), *wide(page)]
    found = "\n".join([*lines, *codes(page)])
    assert "the code TYPE_CUDA" not in found
    for rule in (
        "image-alt",
        "color-contrast",
        "html-has-lang",
        "no language",
        "px wide: MAIN",
        'button "x" is',
        "the code TYPE_CPU",
    ):
        assert rule in found, found
