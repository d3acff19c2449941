"""Examples of the release are listed and copied."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Det

EXAMPLES = Path(__file__).parents[3] / "examples"


def test_every_example_is_listed_with_its_title(det: Det) -> None:
    listed = det("experiment", "list-examples").out
    for readme in EXAMPLES.glob("*/README.md"):
        assert readme.parent.name in listed
        assert readme.read_text().splitlines()[0].lstrip("# ") in listed


def test_a_copy_has_the_files_and_the_next_command(
    det: Det, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert (
        "cd mine && det experiment create -f single.yaml ."
        in det("experiment", "copy-example", "digits", "mine").out
    )
    copied = {path.name for path in (tmp_path / "mine").iterdir()}
    assert copied == {path.name for path in (EXAMPLES / "digits").iterdir()} - {"__pycache__"}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("digit",), "there is no example 'digit': choose one of digits, "),
        (("digits", "there"), "'there' exists: name another directory"),
        (("../tests",), "there is no example '../tests'"),
    ],
)
def test_a_wrong_name_or_directory_is_refused(
    det: Det,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    text: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    outcome = det("experiment", "copy-example", *arguments)
    assert outcome.status == 1
    assert text in outcome.err
