"""Reads and operates the lists of the web UI."""

from __future__ import annotations

from playwright.sync_api import Locator, Page

ROWS = """(grid) => [...grid.querySelectorAll("[role=row][data-index]")]
  .filter((row) => !row.hasAttribute("aria-busy"))
  .sort((a, b) => Number(a.dataset.index) - Number(b.dataset.index))
  .map((row) => [...row.querySelectorAll("[role=gridcell]")]
    .sort((a, b) => Number(a.ariaColIndex) - Number(b.ariaColIndex))
    .map((cell) => cell.textContent))"""


def cells(page: Page, grid: str) -> list[list[str]]:
    """The texts of all drawn rows of a data table, in the order in which they stand."""
    found: list[list[str]] = page.get_by_role("grid", name=grid).evaluate(ROWS)
    return found


def row_of(page: Page, grid: str, text: str) -> Locator:
    """The row of a data table that holds a text."""
    rows = page.get_by_role("grid", name=grid).locator("[role=row][data-index]")
    return rows.filter(has_text=text)


def act_on(page: Page, name: str, act: str) -> None:
    """Choose an act of the menu of a row; its button is there for the row under the pointer."""
    open_acts(page, name)
    page.get_by_role("menuitem", name=act).click()


def open_acts(page: Page, name: str) -> None:
    """Open the menu of a row."""
    page.locator("[role=row][data-index]").filter(has_text=name).hover()
    page.get_by_role("button", name=f"Actions on {name}", exact=True).click()


def confirm(page: Page, act: str) -> None:
    """Agree to a question."""
    page.get_by_role("dialog").get_by_role("button", name=act, exact=True).click()


def choose(page: Page, button: str, act: str) -> None:
    """Open a menu of a page and choose an act."""
    page.get_by_role("button", name=button, exact=True).click()
    page.get_by_role("menuitem", name=act).click()


def stat(page: Page, name: str) -> Locator:
    """The value of one of the numbers on top."""
    return page.locator(f"dl:has(> dt:text-is('{name}')) > dd").first
