"""Lists of runs and searches as a person reads and uses them."""

from __future__ import annotations

import time
from collections.abc import Sequence

from playwright.sync_api import Locator, Page
from tests.webui.visitor import LIMIT_MS

ROWS = """rows => rows
  .map(row => [Number(row.dataset.index), row.querySelector("a")?.textContent ?? ""])
  .sort((a, b) => a[0] - b[0]).map(([, text]) => text)"""
HEADERS = """heads => heads
  .filter(head => head.dataset.column)
  .sort((a, b) => a.ariaColIndex - b.ariaColIndex).map(head => head.dataset.column)"""


def grid(page: Page, label: str = "Trials") -> Locator:
    """The table of a list."""
    return page.get_by_role("grid", name=label)


def shown(page: Page, label: str = "Trials") -> list[int]:
    """Ids of the rows, from the top."""
    rows = grid(page, label).locator("[role=row][data-index]")
    return [int(text) if text else 0 for text in rows.evaluate_all(ROWS)]


def expect_rows(page: Page, wanted: Sequence[int], label: str = "Trials") -> None:
    """Wait until the list has exactly these rows in this order."""
    deadline = time.monotonic() + LIMIT_MS / 1000
    while (seen := shown(page, label)) != list(wanted) and time.monotonic() < deadline:
        page.evaluate("() => new Promise(requestAnimationFrame)")
    assert seen == list(wanted)


def columns(page: Page, label: str = "Trials") -> list[str]:
    """Ids of the columns in sight, from the left."""
    found: list[str] = grid(page, label).get_by_role("columnheader").evaluate_all(HEADERS)
    return found


def ask(page: Page, query: str) -> None:
    """Type a query and send it."""
    bar = page.get_by_role("combobox", name="Query")
    bar.fill(query)
    bar.press("Enter")


def select(page: Page, *ids: int) -> None:
    """Tick the check boxes of rows."""
    for each in ids:
        grid(page).get_by_label(f"Select {each} ").click()
