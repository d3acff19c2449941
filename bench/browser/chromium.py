"""A headless Chromium in a thread of its own.

Playwright's sync API runs an event loop in its thread, where `asyncio.run` of other parts of the
benchmark would fail.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from tests.webui.chromium import OPTIONS, find_chromium, reason_to_skip

from bench.browser.visit import Visit
from bench.cluster import Cluster
from bench.figure import CannotMeasure

T = TypeVar("T")
HEADLESS = ("--disable-background-timer-throttling", "--disable-renderer-backgrounding")
"""A tab that nobody sees runs at full speed all the same."""


def in_browser(cluster: Cluster, act: Callable[[Visit], T]) -> T:
    """Call a function with a started Chromium in whose first profile the admin is signed in.

    Raises:
        CannotMeasure: this machine has no Chromium, no Playwright or no built web UI.
    """
    missing = reason_to_skip()
    if missing:
        raise CannotMeasure(missing)
    with ThreadPoolExecutor(1, "chromium") as thread:
        return thread.submit(_with_chromium, cluster, act).result()


def _with_chromium(cluster: Cluster, act: Callable[[Visit], T]) -> T:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        raise CannotMeasure(f"Playwright is not installed ({error}): make") from error

    with sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path=find_chromium(), args=[*OPTIONS, *HEADLESS]
        )
        try:
            return act(Visit(browser, cluster))
        finally:
            browser.close()
