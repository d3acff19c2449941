"""Progress bars on a terminal, and none elsewhere."""

from __future__ import annotations

import contextlib
import io
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Det
from tests.cli.fake_master import FakeMaster

from determined.cli import main
from determined.common import progress
from determined.common.api import UnauthSession


class Terminal(io.StringIO):
    """Standard error that is a terminal."""

    def isatty(self) -> bool:
        return True


def watched(monkeypatch: pytest.MonkeyPatch, *words: object) -> str:
    """The output of a command on a terminal's standard error."""
    monkeypatch.setenv("TERM", "xterm")
    shown = Terminal()
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    with contextlib.redirect_stderr(shown), contextlib.redirect_stdout(io.StringIO()):
        assert main.main([str(word) for word in words]) == 0
    return shown.getvalue()


def large_model(folder: Path) -> Path:
    """A directory large enough to show a bar."""
    folder.mkdir()
    (folder / "weights").write_bytes(b"w" * (3 << 20))
    (folder.parent / "config.yaml").write_text("name: large")
    return folder


@pytest.fixture(params=[True, False], ids=["bars", "lines"])
def bars(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the extra `progress` installed, and without."""
    monkeypatch.setattr(progress, "has_bars", lambda: request.param)


def test_an_upload_shows_its_progress(
    bars: None, master: FakeMaster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model = large_model(tmp_path / "model")
    shown = watched(monkeypatch, "e", "create", tmp_path / "config.yaml", model)
    assert "Sending files" in shown
    assert "MB" in shown


def test_wait_shows_the_progress(
    bars: None, master: FakeMaster, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = watched(monkeypatch, "e", "wait", 7, "--polling-interval", "0.001")
    assert "Experiment 7 COMPLETED" in shown


def test_no_progress_is_written_to_a_file(det: Det, master: FakeMaster, tmp_path: Path) -> None:
    model = large_model(tmp_path / "model")
    outcome = det("e", "create", str(tmp_path / "config.yaml"), str(model))
    assert "Sending" not in outcome.err
    assert det("e", "wait", "7").err == ""


def test_the_upload_callback_reports_each_part(master: FakeMaster) -> None:
    told: list[tuple[int, int]] = []
    with UnauthSession(master.url) as session:
        session.watch_uploads(lambda sent, total: told.append((sent, total)))
        master.routes["POST", "/big"] = (200, {})
        session.post("/big", data=b"x" * 1_000_000)
    assert [sent for sent, _ in told] == sorted(sent for sent, _ in told)
    assert len(told) == 4
    assert told[-1] == (1_000_000, 1_000_000)
    assert len(master.made("POST", "/big")[0].body) == 1_000_000
