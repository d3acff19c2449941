"""Each statement of the older documents has an answer, and a test that is there."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from tests import pages
from tests.named_tests import exists

PAGE = pages.PAGES / "coverage.md"
ROWS = {"G": 48, "A": 38, "R": 22, "K": 33}
"""How many statements each document has, by the letter of its rows."""
ROW = re.compile(
    r"^\| (?P<id>[GARK]\d+) \| (?P<statement>.+?) \| (?P<answer>.+?) \| (?P<tests>.+) \|$",
    re.MULTILINE,
)
MATCHES = list(ROW.finditer(PAGE.read_text()))


def test_every_statement_has_a_row() -> None:
    named = [match["id"] for match in MATCHES]
    assert named == [f"{letter}{n + 1}" for letter, count in ROWS.items() for n in range(count)]


@pytest.mark.parametrize("match", MATCHES, ids=lambda match: match["id"])
def test_the_tests_of_a_row_are_there(match: re.Match[str]) -> None:
    named = re.findall(r"`(tests/[\w/.]+::\w+)`", match["tests"])
    assert named, f"{match['id']} names no test"
    assert [test for test in named if not exists(test)] == []


def test_the_counts_of_the_page_are_those_of_its_rows() -> None:
    kinds = Counter(
        "in part"
        if "**in part**" in match["answer"]
        else "differs"
        if "**differs**" in match["answer"]
        else "same"
        for match in MATCHES
    )
    counts = (
        f"{kinds['same']} hold, {kinds['differs']} hold in another way, {kinds['in part']} in part"
    )
    assert counts in " ".join(PAGE.read_text().split())
