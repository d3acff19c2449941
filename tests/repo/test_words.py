"""Names and prose follow the glossary and the style: standard terms, plain English."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
GENERATED_MARK = "do not edit"
BANNED_MODULE_WORDS = {
    "corked", "gathering", "joins", "leading", "losses", "misc", "parting", "refusals", "resting",
    "room", "sight", "spot_book", "stay", "utils",
}  # fmt: skip
WIRE_NAMES = {"Message"}
"""Bases of two independent protocols: of the REST API and of the agents' link."""
UNPLAIN = {
    "report, log, return or notify": r"\b(?:is|are|was|were|be|been|has|have) told\b(?! to)"
    r"|\btells? (?:of|its|their|who|what|whether|how|when|where|why|nothing)\b",
    "continue": r"\bgo(?:es)? on\b|\bwent on\b",
    "again": r"\banew\b",
    "forever": r"\bfor ever\b",
    "must, will or the present tense": r"\bshall\b",
    "accept, admit, authenticate or release": r"\blet(?:s|ting)? (?:in|go)\b",
    "ensure, or of it, by it": r"\bsees? to it\b"
    r"|\b(?:thereof|thereby|therein|whereby)\b",
    "a subject in place of what or who": r"(?:^|[.:] )(?:What|Who|Whom|Whoever|Whatever) "
    r"(?=[a-z])[^.?]*?\b(?:is|are|goes|has|have|may|was|were|does|do|can|must)\b(?![^.]*\?)",
}
"""Patterns of sentences that need two readings, by what to write instead."""
UNCLEAR = {
    "the number, or the name of the parameter": (
        r"\bso (?:many|long|few)\b(?! (?:as|that)\b)",
        16,
    ),
    "which state, or leave it out": (r"\bas (?:it|they) (?:is|are|was|were|comes?|came)\b", 105),
    "is not, or no X has": (r"\b(?:is|are|was|were) none of\b(?! (?:them|these|those|its)\b)", 2),
    "own, private or separate": (r"\bof (?:its|their) own\b", 145),
    "since, until then or during it": (r"\b[Mm]eanwhile\b", 6),
    "without effect": (r"\bin vain\b", 0),
    "permanently": (r"(?<!searches )\bfor good\b", 8),
    "in messages, in words or for users": (r"\b[Ff]or people\b", 3),
}
"""What to write instead of words with several meanings, their pattern, and how many may be left.
The numbers only shrink."""
UNPLAIN_TITLE = re.compile(
    r"test_(?:what|who|whom|whose|whoever|whatever)_|\w*_(?:told(?!_to)|tells?|anew|go(?:es)?_on)(?:_|$)"
)
"""Titles of tests that need two readings: write subject, verb, object."""
PARTICIPLES = {
    "asked", "found", "given", "kept", "known", "left", "made", "meant", "named", "noted", "seen",
    "sent", "shown", "taken", "told", "wanted", "written",
}  # fmt: skip
"""Say how a value came, not what it is: write `row`, `agents`, `cached`, `request`."""
MAX_PARTICIPLES = {
    "determined_master": 1005,
    "determined_agent": 0,
    "determined_wire": 0,
    "determined/cli": 0,
    "determined_deploy": 0,
}
"""Names by a participle alone that are not renamed yet, by tree. These only shrink."""
PLAIN_SOURCES = (
    "determined_master",
    "determined_agent",
    "determined_wire",
    "determined",
    "determined_deploy",
)
HOUSES = (
    "determined_master",
    "determined_agent",
    "determined_wire",
    "determined/cli",
    "determined_deploy",
)
PLAIN_PAGES = ("README.md", "CONTRIBUTING.md", "docs/**/*.md", "examples/**/*.md")


@cache
def modules(house: str) -> tuple[Path, ...]:
    paths = sorted((SOURCE / house).rglob("*.py"))
    return tuple(path for path in paths if GENERATED_MARK not in path.read_text()[:400])


class Names(NamedTuple):
    """What a module defines."""

    public_classes: list[str]
    defined: list[str]
    """Classes, functions, parameters and variables."""


@cache
def names_of(path: Path) -> Names:
    """The names of a module, for several tests: to parse all modules takes seconds."""
    tree = ast.parse(path.read_text())
    classes = [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
    return Names([n for n in classes if not n.startswith("_")], list(defined_names(tree)))


@pytest.mark.parametrize("house", HOUSES)
def test_no_public_class_name_stands_twice_in_one_tree(house: str) -> None:
    found = defaultdict(list)
    for path in modules(house):
        for name in names_of(path).public_classes:
            found[name].append(str(path.relative_to(SOURCE)))
    assert {n: p for n, p in found.items() if len(p) > 1 and n not in WIRE_NAMES} == {}


@pytest.mark.parametrize("house", HOUSES)
def test_modules_are_named_by_standard_terms(house: str) -> None:
    named = [str(p.relative_to(SOURCE)) for p in modules(house) if p.stem in BANNED_MODULE_WORDS]
    assert named == []


def defined_names(tree: ast.Module) -> Iterator[str]:
    """Names of classes, functions, parameters and variables that a module defines."""
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef(name) | ast.FunctionDef(name) | ast.AsyncFunctionDef(name):
                yield name
            case ast.arg(name) | ast.Name(id=name, ctx=ast.Store()):
                yield name


def is_participle(name: str) -> bool:
    return name.strip("_").lower() in PARTICIPLES


@pytest.mark.parametrize("house", HOUSES)
def test_no_more_values_are_named_by_a_participle_alone(house: str) -> None:
    count = sum(is_participle(name) for path in modules(house) for name in names_of(path).defined)
    assert count <= MAX_PARTICIPLES[house], "name the value by what it is"


def test_bounds_are_named_max() -> None:
    uneven = [
        f"{path.relative_to(SOURCE)}: {name}"
        for house in HOUSES
        for path in modules(house)
        for name in names_of(path).defined
        if re.match(r"_?(MOST|LONGEST)(_|$)", name)
    ]
    assert uneven == [], "name a bound MAX_..."


@pytest.mark.parametrize(
    ("name", "is_one"), [("found", True), ("_Kept", True), ("found_rows", False), ("row", False)]
)
def test_participles_are_found_alone_only(name: str, is_one: bool) -> None:
    assert is_participle(name) is is_one


def prose_of_module(path: Path) -> Iterator[tuple[int, str]]:
    """Comments, docstrings and other texts with their lines."""
    for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("# ")
        elif token.type == tokenize.STRING and " " in token.string:
            for offset, line in enumerate(token.string.splitlines()):
                yield token.start[0] + offset, line.strip().lstrip('rbfRBF"').strip('"')


def prose_of_page(path: Path) -> Iterator[tuple[int, str]]:
    """Lines of a page outside of its blocks of code."""
    is_code = False
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code:
            yield number, re.sub(r"`[^`]*`", "", line).lstrip("-*|0123456789. ")


def unplain(lines: Iterator[tuple[int, str]]) -> list[str]:
    return [
        f"{number}: {line!r}: write {instead}"
        for number, line in lines
        for instead, pattern in UNPLAIN.items()
        if re.search(pattern, line)
    ]


@pytest.mark.parametrize("house", PLAIN_SOURCES)
def test_the_prose_of_the_code_is_plain(house: str) -> None:
    found = {
        str(path.relative_to(SOURCE)): faults
        for path in modules(house)
        if (faults := unplain(prose_of_module(path)))
    }
    assert found == {}


@pytest.fixture(scope="module")
def all_prose() -> str:
    """All prose of sources and pages."""
    pages = [page for name in PLAIN_PAGES for page in sorted(ROOT.glob(name))]
    lines = [line for page in pages for _, line in prose_of_page(page)]
    for house in PLAIN_SOURCES:
        lines += [line for path in modules(house) for _, line in prose_of_module(path)]
    return "\n".join(lines)


@pytest.mark.parametrize("instead", UNCLEAR)
def test_no_more_words_have_several_meanings(instead: str, all_prose: str) -> None:
    pattern, limit = UNCLEAR[instead]
    count = len(re.findall(pattern, all_prose))
    assert count <= limit, f"write {instead}"


@pytest.mark.parametrize(
    "page", [p for name in PLAIN_PAGES for p in sorted(ROOT.glob(name))], ids=lambda p: p.name
)
def test_the_prose_of_a_page_is_plain(page: Path) -> None:
    assert unplain(prose_of_page(page)) == []


def test_titles_of_tests_are_plain() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {title}"
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        for title in re.findall(r"^\s*(?:async )?def (test_\w+)", path.read_text(), re.MULTILINE)
        if UNPLAIN_TITLE.match(title)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("title", "is_plain"),
    [
        ("test_what_waits_gets_machines", False),
        ("test_a_full_disk_is_told", False),
        ("test_a_master_that_is_told_to_end_ends", True),
        ("test_a_full_disk_is_reported", True),
    ],
)
def test_the_pattern_of_titles_finds_them(title: str, is_plain: bool) -> None:
    assert (UNPLAIN_TITLE.match(title) is None) is is_plain


@pytest.mark.parametrize(
    ("text", "is_plain"),
    [
        ("The agent is told of it.", False),
        ("It tells what went wrong.", False),
        ("The trial goes on.", False),
        ("What is much never passes through the engine.", False),
        ("Who asks may wait.", False),
        ("An agent is let in.", False),
        ("It shall be deleted.", False),
        ("The master sees to it that it ends.", False),
        ("The key lets the client in.", True),
        ("A container that was told to end.", True),
        ("What happens when a trial fails?", True),
        ("The master reports it.", True),
    ],
)
def test_the_patterns_find_what_they_name(text: str, is_plain: bool) -> None:
    assert (unplain(iter([(1, text)])) == []) is is_plain
