"""Progress bars of transfers on a terminal."""

from __future__ import annotations

import io
import sys

import pytest

from determined.cli.checkpoint import transfers


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_the_progress_of_a_transfer(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with transfers.progress_bar("checkpoint [x]", 3_000_000) as moved:
        assert moved is not None
        moved(3_000_000)
    assert "checkpoint [x]" in screen.getvalue()
    assert "3.0/3.0 MB" in screen.getvalue()


def test_a_narrow_terminal_shows_only_the_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "60")
    label = "checkpoint 5de279c7-715d-4ef0-b872-116b9ba4370b"
    with transfers.progress_bar(label, 39_000) as moved:
        assert moved is not None
        moved(39_000)
    assert f"{label} " in screen.getvalue()
    assert "39.0/39.0" in screen.getvalue()
    assert "…" not in screen.getvalue()


def test_no_progress_is_shown_in_a_file_or_with_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    with transfers.progress_bar("x", 1) as moved:
        assert moved is None
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with transfers.progress_bar("x", 1, is_quiet=True) as moved:
        assert moved is None
    assert screen.getvalue() == ""
