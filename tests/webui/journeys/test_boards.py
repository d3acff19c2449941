"""Boards: Markdown with live panels, shared by link, written by two persons at once."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.webui.conftest import Site
from tests.webui.scene import SAVES, Place, new_name, new_place

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("webui-2")]

TEXT = """# Week 7

<script>window.isHacked = true</script>

```panel number
of: count
title: Runs so far
```

```panel runs
title: The runs
limit: 5
```
"""


@pytest.fixture(scope="module")
def place(site: Site) -> Place:
    return new_place(site.cluster, "boards")


def board(place: Place, scope: str, text: str = TEXT) -> dict[str, Any]:
    body = {"name": new_name("board"), "scope": scope, "text": text}
    path = f"/api/ui/v1/projects/{place.project}/boards"
    made = place.cluster.session().post(path, json=body).json()
    return dict(made["board"])


def test_a_board_is_made_written_and_live(place: Place, admin: Any) -> None:
    name = new_name("weekly")
    page: Page = admin.goto(f"/projects/{place.project}/boards")
    page.get_by_role("button", name="New board").first.click()
    form = page.get_by_role("dialog", name="New board")
    form.get_by_label("Name").fill(name)
    form.get_by_role("button", name="Create").click()
    text = page.get_by_role("textbox", name="Text of the board")
    text.fill(TEXT)
    page.keyboard.press("Control+s")
    expect(page.get_by_role("button", name="Edit")).to_be_visible()  # saved, and closed
    expect(page.get_by_role("heading", name="Week 7")).to_be_visible()
    assert page.evaluate("window.isHacked") is None
    expect(page.get_by_text("0 trials", exact=True)).to_be_visible()
    experiment = place.submit(SAVES)
    assert place.cluster.wait(experiment) == "COMPLETED"
    expect(page.get_by_text("1 trial", exact=True)).to_be_visible()  # without a reload


def test_a_private_board_opens_for_its_owner_alone(place: Place, admin: Any, visit: Any) -> None:
    private, shared = board(place, "private"), board(place, "project")
    page: Page = admin.goto(f"/boards/{private['id']}")
    expect(page.get_by_role("heading", name="Week 7")).to_be_visible()
    other: Page = visit(admin.address, "ada").goto(f"/boards/{private['id']}")
    expect(other.get_by_role("heading", level=1)).to_have_text("Not found")
    other.goto(admin.url(f"/boards/{shared['id']}"))
    expect(other.get_by_role("heading", name="Week 7")).to_be_visible()


def test_two_persons_who_write_the_same_lines_are_asked(
    place: Place, admin: Any, visit: Any
) -> None:
    made = board(place, "project", "one line\n")
    pages: list[Page] = [admin.page, visit(admin.address).page]
    for page in pages:
        page.goto(admin.url(f"/boards/{made['id']}"))
        page.get_by_role("button", name="Edit").click()
        expect(page.get_by_role("textbox", name="Text of the board")).to_be_visible()
    first, second = pages
    first.get_by_role("textbox", name="Text of the board").fill("the first one's line\n")
    first.keyboard.press("Control+s")
    expect(first.get_by_role("button", name="Edit")).to_be_visible()
    second.get_by_role("textbox", name="Text of the board").fill("the second one's line\n")
    second.keyboard.press("Control+s")
    question = second.get_by_role("dialog", name="Somebody else has changed the same lines")
    expect(question).to_contain_text("the first one's line")
    question.get_by_role("button", name=re.compile("mine", re.IGNORECASE)).click()
    expect(second.get_by_role("button", name="Edit")).to_be_visible()
    stored = place.cluster.get(f"/api/ui/v1/boards/{made['id']}")["board"]["text"]
    assert stored.strip() == "the second one's line"
