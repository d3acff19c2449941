"""The fenced blocks, commands and examples of a page for users, as tests follow them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

PAGES = Path(__file__).parents[1] / "docs"
_BLOCK = re.compile(
    r'^```(?P<kind>\w*(?: \w+)?)(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)^```', re.M | re.S
)
_SHELLS = ("", "sh")
KUBERNETES = (
    "kubernetes.md",
    *(f"kubernetes-{part}.md" for part in ("placement", "sharing", "permissions", "testing")),
)
"""The pages on the backend of Kubernetes."""


class Block(NamedTuple):
    """One block."""

    kind: str
    """As the fence names it; may be empty."""
    title: str | None
    text: str

    def commands(self) -> list[str]:
        """Its lines without comments; one that ends with a backslash is continued by the next."""
        lines = re.sub(r"\\\n\s*", "", self.text).splitlines()
        return [re.sub(r"\s+# .*", "", line) for line in lines]


def blocks(page: str) -> list[Block]:
    """All blocks of a page, in order."""
    text = (PAGES / page).read_text()
    return [Block(m["kind"], m["title"], m["text"]) for m in _BLOCK.finditer(text)]


def commands_on(page: str, place: str) -> list[str]:
    """The commands of the blocks whose title is that place."""
    found = [line for block in blocks(page) if block.title == place for line in block.commands()]
    assert found, f"{page} has no block with the title {place}"
    return found


def commands(page: str) -> list[str]:
    """All commands of the blocks of a page, in order."""
    shells = [block for block in blocks(page) if block.kind in _SHELLS]
    return [line for block in shells for line in block.commands()]


def examples(page: str, kind: str = "yaml") -> list[str]:
    """The texts of the blocks of YAML, or of another kind, in order."""
    return [block.text for block in blocks(page) if block.kind == kind]


def mentions(page: str, *beginnings: str) -> Iterator[str]:
    """Commands within the sentences of a page that begin so, in order."""
    text = _BLOCK.sub("", (PAGES / page).read_text())
    # A span may continue on the next line.
    spans = (" ".join(span.split()) for span in re.findall(r"`([^`]+)`", text))
    return (span for span in spans if span.startswith(beginnings))


def unexplained(found: Collection[str], run: Collection[str], why: Collection[str]) -> list[str]:
    """Commands that are neither run nor in a list of those that are not.

    Args:
        run: beginnings of commands that a test runs.
        why: beginnings of commands that are not run.
    """
    return [line for line in found if not line.startswith((*run, *why))]


def stale(found: Collection[str], why: Collection[str]) -> list[str]:
    """Beginnings in a list with which no command of the pages begins."""
    return [start for start in why if not any(line.startswith(start) for line in found)]
