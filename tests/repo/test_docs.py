"""What documents point at is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_within_the_repository_leads_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text())
    inside = [t for t in targets if "://" not in t]
    gone = [target for target in inside if not (page.parent / target).exists()]
    assert not gone, f"{page} links to {gone}"


@pytest.mark.parametrize(
    "page", [p for p in PAGES if "docs" in p.parts], ids=lambda p: str(p.relative_to(ROOT))
)
def test_every_module_that_a_page_names_is_there(page: Path) -> None:
    named = re.findall(r"`((?:[a-z_]+/)*[a-z_]+\.py)`", page.read_text())
    gone = [name for name in named if not any(SOURCE.rglob(name)) and not (ROOT / name).exists()]
    assert not gone, f"{page} names {gone}"
