"""Every row of the copied references is covered by a test that carries its mark."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.covers import REFERENCES, covers, is_of, reference
from tests.covers_listing import Listing, listing_of

ROOT = Path(__file__).parents[2]
NAMES = sorted(path.stem for path in REFERENCES.glob("*.json"))


@pytest.fixture(scope="module")
def marked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Listing:
    """Marks of all tests: of those of this run, and from a collection of the other files."""
    pattern = "covers\\(|" + "|".join(f"{name} [0-9a-z]" for name in NAMES)
    files = subprocess.run(
        ["git", "grep", "-lE", "--untracked", pattern, "--", "tests/*.py"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    items = request.session.items if is_whole(request.config) else []
    here = {item.nodeid.partition("::")[0] for item in items}
    others = [f for f in files if Path(f).name.startswith("test_") and f not in here]
    listing = listing_of(items)
    if others:
        for name, rows in collected(others, tmp_path_factory.mktemp("covers")).items():
            for row, tests in rows.items():
                listing.setdefault(name, {}).setdefault(row, []).extend(tests)
    return listing


def is_whole(config: pytest.Config) -> bool:
    """Whether a run has all tests of its files. Those for browsers cover no row."""
    is_selected = config.option.keyword or any("::" in argument for argument in config.args)
    return not is_selected and config.option.markexpr in ("", "not browser")


def collected(files: Sequence[str], folder: Path) -> Listing:
    """The marks of some files, whose tests another process collects."""
    path = folder / "listing.json"
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-p", "tests.covers_listing", "--covers-listing", str(path), *files],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    listing: Listing = json.loads(path.read_text())
    return listing


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_row_is_covered_by_a_test(name, marked) -> None:
    known, seen = reference(name), marked.get(name, {})
    missing = [f"{r}: {known.rows[r]}" for r in known.rows if r not in seen]
    missing = [line for line in missing if line.split(":")[0] not in known.excused()]
    assert missing == [], "no test covers these rows:\n" + "\n".join(missing)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_no_excuse_outlives_its_reason(name, marked) -> None:
    known = reference(name)
    assert sorted(known.excused() & marked.get(name, {}).keys()) == []
    excuses = known.later.keys() | known.nothing_to_build.keys()
    assert [e for e in excuses if not any(is_of(row, e) for row in known.rows)] == []


@pytest.mark.parametrize("text", ["experiment-config 99.x", "experiment-config"])
def test_a_mark_for_a_row_that_is_not_there_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="has no row"):
        covers(text)


def test_a_mark_names_its_reference_and_rows() -> None:
    mark = covers("experiment-config 7.7 2.name").mark
    assert (mark.name, mark.args) == ("covers", ("experiment-config", "7.7", "2.name"))
    mark = covers("scheduling-and-provisioning b.4.in_vain").mark
    assert mark.args == ("scheduling-and-provisioning", "b.4.in_vain")


def test_a_row_is_of_its_section_and_chapter_and_of_no_other() -> None:
    assert is_of("a.1.age", "a.1.age")
    assert is_of("a.1.age", "a.1")
    assert is_of("a.1.age", "a")
    assert not is_of("a.10.age", "a.1")
