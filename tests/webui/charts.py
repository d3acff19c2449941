"""Charts as a person reads and exports them."""

from __future__ import annotations

import csv

from playwright.sync_api import Locator, Page


def chart(page: Page, title: str) -> Locator:
    """A chart by its title."""
    return page.get_by_role("region", name=title, exact=True)


def open_menu(page: Page, title: str) -> None:
    chart(page, title).get_by_role("button", name=f"Menu of {title}").click()


def as_table(page: Page, title: str) -> Locator:
    """Show the data of a chart; its rows."""
    open_menu(page, title)
    page.get_by_role("menuitem", name="Show the data as a table").click()
    return chart(page, f"{title}, data").locator("tbody tr")


def download(page: Page, title: str, entry: str) -> str:
    """The text of a file that the chart's menu offers."""
    open_menu(page, title)
    with page.expect_download() as found:
        page.get_by_role("menuitem", name=entry, exact=True).click()
    return found.value.path().read_text()


def csv_rows(text: str) -> tuple[list[str], list[list[str]]]:
    """The head of a CSV file, and its rows."""
    head, *rows = csv.reader(text.splitlines())
    return head, rows
