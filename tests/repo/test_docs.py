"""What documents point at is there: links, modules, make targets, commands and their options."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path

import pytest

from determined.cli import nouns
from determined.cli.main import build_parser

ROOT = Path(__file__).parents[2]
SOURCES = [f"/{path.relative_to(ROOT)}" for path in ROOT.glob("src/**/*.py")]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")])
FENCED = re.compile(r"^```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)
MAX_WIDTH = 100
of_each_page = pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))


@of_each_page
def test_every_link_within_the_repository_leads_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text())
    inside = [t for t in targets if "://" not in t]
    gone = [target for target in inside if not (page.parent / target).exists()]
    assert not gone, f"{page} links to {gone}"


@of_each_page
def test_every_link_to_a_heading_finds_it(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", page.read_text())
    inside = [
        (page.parent / path if path else page, name) for path, name in links if "://" not in path
    ]
    gone = [f"{path.name}#{name}" for path, name in inside if name not in headings(path)]
    assert not gone, f"{page} links to {gone}"


@cache
def headings(page: Path) -> frozenset[str]:
    """The names by which links reach the headings of a page."""
    text = re.sub(r"^\s*```.*?^\s*```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title).lower() for title in titles]
    return frozenset(re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in plain)


@of_each_page
def test_no_line_of_prose_is_wider_than_100_characters(page: Path) -> None:
    text = FENCED.sub("", page.read_text())
    is_fixed = re.compile(r"\||\s{4}|.*https?://|.*`[^`]{60,}`")  # tables, blocks, long commands
    wide = [
        line for line in text.splitlines() if len(line) > MAX_WIDTH and not is_fixed.match(line)
    ]
    assert wide == []


@of_each_page
def test_every_module_that_a_page_names_is_there(page: Path) -> None:
    named = re.findall(r"`((?:[\w{},]+/)*[\w{},]+\.py)`", page.read_text())
    each = [path for name in named for path in spelled_out(name)]
    gone = [path for path in each if not is_module(path, page)]
    assert not gone, f"{page} names {gone}"


@of_each_page
def test_every_directory_that_a_page_names_is_there(page: Path) -> None:
    named = re.findall(
        r"`((?:src|tests|bench|tools|docs|deploy|examples)(?:/\w+)+)/?`", page.read_text()
    )
    gone = [path for path in named if not (ROOT / path).exists()]
    assert not gone, f"{page} names {gone}"


@of_each_page
def test_every_make_target_that_a_page_names_is_there(page: Path) -> None:
    targets = re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    named = {m.group(1) for c in code(page) if (m := re.match(r"make ([a-z0-9-]+)", c))}
    assert named <= set(targets), f"{page} names {named - set(targets)}"


@of_each_page
def test_every_command_that_a_page_names_is_understood(page: Path) -> None:
    lines = [m.group(1) for c in code(page) if (m := re.match(r"(?:[A-Z_]+=\S+ )*det (\S.*)", c))]
    wrong = {line: why for line in lines if (why := misunderstood(line.split()))}
    assert not wrong, f"{page} names {wrong}"


def test_every_event_effect_and_class_of_the_walk_is_in_the_code() -> None:
    text = "\n".join(path.read_text() for path in ROOT.glob("src/**/*.py"))
    defined = set(re.findall(r"^class (\w+)", text, re.MULTILINE))
    named = set(
        re.findall(
            r"`([A-Z][a-z]+[A-Z]\w+)\b", (ROOT / "docs/architecture/one-trial.md").read_text()
        )
    )
    assert len(named) > 10
    assert named <= defined, named - defined


def is_module(path: str, page: Path) -> bool:
    """Whether a path leads to one: from the repository, the page, or any package of ours."""
    below = any(source.endswith(f"/{path}") for source in SOURCES)
    return below or (ROOT / path).exists() or (page.parent / path).exists()


def code(page: Path) -> Iterator[str]:
    """What stands between back quotes, and each line of the blocks, without its comment."""
    text = page.read_text()
    yield from re.findall(r"`([^`\n]+)`", FENCED.sub("", text))
    for block in FENCED.findall(text):
        yield from (line.partition(" #")[0].strip() for line in block.splitlines())


def spelled_out(name: str) -> list[str]:
    """`a/{b,c}.py` as `a/b.py` and `a/c.py`."""
    parts = re.split(r"\{([^}]*)\}", name)
    return ["".join(chosen) for chosen in product(*(part.split(",") for part in parts))]


def misunderstood(words: list[str]) -> str:
    """What `det` would not know of a line; nothing when it knows its command and options.

    A word of a command may stand for several: `pause|activate`, `{kill,logs}`.
    """
    while words and words[0].startswith("-"):
        words = words[2:]  # -u USER, -m ADDRESS
    parser = parser_of(words[0] if words else "")
    while words and (known := children(parser)) and not words[0].startswith(("-", "…")):
        names = re.split(r"[|/,]", words[0].strip("{}"))
        if not set(names) <= known.keys():
            return f"there is no {words[0]}"
        parser, words = known[names[0]], words[1:]
    if any(action.nargs == argparse.REMAINDER for action in parser._actions):
        return ""  # options behind it are those of a program
    given = {option for word in words for option in re.findall(r"^\[?(--[a-z][\w-]+)", word)}
    unknown = given - parser._option_string_actions.keys()
    return f"there is no option {', '.join(sorted(unknown))}" if unknown else ""


@cache
def parser_of(noun: str) -> argparse.ArgumentParser:
    return build_parser(nouns.load(noun) if noun else None)


def children(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The commands below a command, by each of their names."""
    found = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    return dict(found[0].choices) if found else {}
