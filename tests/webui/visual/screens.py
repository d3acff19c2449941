"""The key screens of the web UI: where each is, and what a person does there first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Page

WIDE = {"width": 1280, "height": 800}
NARROW = {"width": 320, "height": 640}


def _nothing(_page: Page) -> None:
    """The page as it opens."""


def _palette(page: Page) -> None:
    page.keyboard.press("Control+k")
    page.get_by_role("dialog").get_by_role("option").first.wait_for()


def _peek(page: Page) -> None:
    page.get_by_role("grid").focus()
    page.keyboard.press("j")
    page.keyboard.press("Space")
    page.get_by_role("complementary").get_by_role("heading").first.wait_for()


@dataclass(frozen=True)
class Screen:
    """One picture."""

    name: str
    path: str
    """Below `/det`, with names of ids in braces."""
    act: Callable[[Page], None] = _nothing
    options: dict[str, Any] = field(default_factory=lambda: {"viewport": WIDE})

    def address(self, ids: dict[str, Any]) -> str:
        """The path with the ids of a recording."""
        return self.path.format(**ids)


DARK = {"viewport": WIDE, "color_scheme": "dark"}
SMALL = {"viewport": NARROW}

SCREENS = (
    Screen("home", "/dashboard"),
    Screen("home-dark", "/dashboard", options=DARK),
    Screen("runs", "/projects/{project}/runs"),
    Screen("runs-dark", "/projects/{project}/runs", options=DARK),
    Screen("runs-narrow", "/projects/{project}/runs", options=SMALL),
    Screen("runs-peek", "/projects/{project}/runs", _peek),
    Screen("searches", "/projects/{project}/searches"),
    Screen("palette", "/dashboard", _palette),
    Screen("run-overview", "/experiments/{run}/overview"),
    Screen("run-overview-narrow", "/experiments/{run}/overview", options=SMALL),
    Screen("run-metrics", "/experiments/{run}/metrics"),
    Screen("run-metrics-dark", "/experiments/{run}/metrics", options=DARK),
    Screen("run-checkpoints", "/experiments/{run}/checkpoints"),
    Screen("run-logs", "/experiments/{run}/logs"),
    Screen("run-failed", "/experiments/{failed}/overview"),
    Screen("search-overview", "/experiments/{search}/overview"),
    Screen("search-visualization", "/experiments/{search}/visualization"),
    Screen("search-story", "/experiments/{search}/story"),
    Screen("why", "/experiments/{waiting}/why"),
    Screen("compare", "/compare?runs={runs}"),
    Screen("compare-dark", "/compare?runs={runs}", options=DARK),
    Screen("cluster", "/clusters"),
    Screen("queue", "/resourcepool/default/queue"),
    Screen("tasks", "/tasks"),
    Screen("workspaces", "/workspaces"),
    Screen("models", "/models"),
    Screen("users", "/admin/user-management"),
    Screen("settings", "/settings"),
)
