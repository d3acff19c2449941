"""The tables of permissions are the committed ones: who changes them changes the page too."""

from __future__ import annotations

from pathlib import Path

from tools.permissions_page import permissions_page

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "permissions.md"


def test_the_committed_page_shows_every_role_need_and_limit_of_the_code() -> None:
    assert permissions_page() == PAGE.read_text()
