"""The fenced blocks of a page for users, as tests follow them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

PAGES = Path(__file__).parents[2] / "docs"
_BLOCK = re.compile(
    r'^```(?P<kind>\w*)(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)^```', re.M | re.S
)


class Block(NamedTuple):
    """One block."""

    kind: str
    """As the fence names it; may be empty."""
    title: str | None
    text: str

    def commands(self) -> list[str]:
        """Its lines; one that ends with a backslash is continued by the next."""
        return re.sub(r"\\\n\s*", "", self.text).splitlines()


def blocks(page: str) -> list[Block]:
    """All blocks of a page, in order."""
    text = (PAGES / page).read_text()
    return [Block(m["kind"], m["title"], m["text"]) for m in _BLOCK.finditer(text)]


def commands_on(page: str, place: str) -> list[str]:
    """The commands of the blocks whose title is that place."""
    found = [line for block in blocks(page) if block.title == place for line in block.commands()]
    assert found, f"{page} has no block with the title {place}"
    return found
