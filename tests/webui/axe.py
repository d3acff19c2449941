"""The accessibility checks of axe on a page as it is now."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

SCRIPT = Path(__file__).parents[2] / "webui" / "node_modules" / "axe-core" / "axe.min.js"
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
OF_COLOUR = ["color-contrast", "link-in-text-block"]
"""The rules that look at colours; all others find the same in every theme."""
RUN = """async ([type, values]) => {
  const found = await axe.run(document, {
    runOnly: { type, values },
    resultTypes: ["violations"],
  });
  return found.violations.map((rule) => ({
    id: rule.id,
    help: rule.help,
    nodes: rule.nodes.map((node) => `${node.target.join(" ")}: ${node.failureSummary}`),
  }));
}"""


@functools.cache
def _script() -> str:
    return SCRIPT.read_text()


def violations(page: Page, only_colours: bool = False) -> list[str]:
    """All violations of WCAG 2.2 A and AA, one line for each element.

    Args:
        page: as it is now.
        only_colours: leaves out the rules that do not depend on the theme.
    """
    if page.evaluate("typeof axe === 'undefined'"):
        page.evaluate(_script())
    found: list[dict[str, Any]] = page.evaluate(
        RUN, ["rule", OF_COLOUR] if only_colours else ["tag", TAGS]
    )
    return [f"{rule['id']} ({rule['help']}): {node}" for rule in found for node in rule["nodes"]]
