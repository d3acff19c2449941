"""Every public name of 0.38.1 is ours, or stands in a list with its reason."""

from __future__ import annotations

import fnmatch
import re
import warnings
from pathlib import Path

import pytest
from tests.compat.client import install
from tests.environments import NotInstalled
from tests.names.resolve import problem

from tools import published_names

DATA = Path(__file__).parents[1] / "data"
NAMES = (DATA / "published_names.txt").read_text().splitlines()
ROW = re.compile(r"^\| `(determined[^`]*)` \| (.+) \|$", re.M)


@pytest.mark.slow
def test_every_name_is_ours_or_has_a_reason() -> None:
    rows = ROW.findall((DATA / "names_not_ours.md").read_text())
    patterns = [pattern for pattern, _ in rows]
    assert len(patterns) == len(set(patterns))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # old names warn when they are imported
        problems = {name: text for name in NAMES if (text := problem(name))}
    unused = set(patterns)
    for name in list(problems):
        matching = [pattern for pattern in patterns if fnmatch.fnmatchcase(name, pattern)]
        unused -= set(matching)
        if matching:
            del problems[name]
    assert problems == {}
    assert unused == set(), "rows that no name needs"


@pytest.mark.slow
@pytest.mark.compat
def test_the_list_is_that_of_the_published_package() -> None:
    try:
        python = install()
    except NotInstalled as reason:
        pytest.skip(f"the published client cannot be installed: {reason}")
    [packages] = python.parents[1].glob("lib/python3*/site-packages")
    assert published_names.listing(packages) == NAMES
