"""A release: what runs without the network, what is left out, and what stops it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from tools.make_dist import CannotRelease
from tools.release import check_publishable, notes_of, release, steps

from determined_wire.release import VERSION
from tools import release as module

ROOT = Path(__file__).parents[2]
CHANGELOG = f"# Changelog\n\n## {VERSION} (unreleased)\n- new\n\n## 0.1\n- old\n"


@pytest.fixture
def dist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(module, "NOTES", tmp_path / "NOTES.md")
    return tmp_path


@pytest.mark.parametrize("is_published", [False, True])
def test_steps_with_a_network_run_only_when_it_is_published(
    dist: Path, capsys: pytest.CaptureFixture[str], is_published: bool
) -> None:
    commands: list[Sequence[str]] = []
    release(is_published=is_published, changelog=CHANGELOG, run=commands.append)
    needed = [s for s in steps() if is_published or not s.needs_network]
    assert commands == [step.command for step in needed]
    assert capsys.readouterr().out.count("left out: ") == len(steps()) - len(needed)
    assert (dist / "NOTES.md").read_text() == "- new\n"


def test_nothing_is_published_before_all_is_built_and_installed() -> None:
    order = [step.needs_network for step in steps()]
    assert order == sorted(order)
    last = [step.title for step in steps()][-1]
    assert last == "page of the release"


def test_a_step_that_fails_ends_the_release(dist: Path) -> None:
    def fail(command: Sequence[str]) -> None:
        raise CannotRelease("no")

    with pytest.raises(CannotRelease):
        release(is_published=True, changelog=CHANGELOG, run=fail)
    assert not (dist / "NOTES.md").exists()


def test_the_notes_are_those_of_the_version_alone() -> None:
    assert notes_of(CHANGELOG, "0.1") == "- old\n"
    with pytest.raises(CannotRelease, match=r"no section '## 1\.0'"):
        notes_of(CHANGELOG, "1.0")
    assert notes_of((ROOT / "CHANGELOG.md").read_text(), VERSION).startswith("### Added")


def test_a_release_has_a_day_and_a_tag() -> None:
    with pytest.raises(CannotRelease, match="write the day"):
        check_publishable(CHANGELOG, [f"v{VERSION}"])
    dated = CHANGELOG.replace("(unreleased)", "(2027-01-01)")
    with pytest.raises(CannotRelease, match=f"no tag v{VERSION}"):
        check_publishable(dated, ["v0.1"])
    check_publishable(dated, [f"v{VERSION}"])


def test_the_workflow_runs_the_same_command() -> None:
    workflow = (ROOT / ".github/workflows/release.yml").read_text()
    assert "make release PUBLISH=1\n" in workflow
    assert "make release\n" in workflow
