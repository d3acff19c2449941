"""The master's own log."""

from __future__ import annotations

import logging

import asyncpg
import pytest

from determined_master.engine.errors import NotLeader
from determined_master.server.logs import RECENT, configure_logging


@pytest.fixture(autouse=True)
def restored(monkeypatch: pytest.MonkeyPatch) -> None:
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", root.handlers)
    monkeypatch.setattr(root, "level", root.level)


def lines_of(error: Exception, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What the log shows of a loop that fails once."""
    configure_logging("info")
    try:
        raise error
    except Exception:
        logging.getLogger("determined_master.sweeps").exception(
            "nobody was asked; it is tried again", extra={"pool": "p"}
        )
    return capsys.readouterr().err.splitlines()


@pytest.mark.parametrize(
    "error",
    [
        asyncpg.ConnectionDoesNotExistError("connection was closed in the middle of operation"),
        ConnectionRefusedError(111, "Connect call failed"),
        FileNotFoundError(2, "No such file or directory"),  # the socket, as asyncio tells of it
        NotLeader("another master leads"),
    ],
)
def test_a_transient_error_is_logged_in_one_line(
    error: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    (line,) = lines_of(error, capsys)
    assert line.partition(" ")[2] == (
        f"WARNING  nobody was asked; it is tried again: {type(error).__name__}: {error} pool=p"
    )
    kept = RECENT.entries[-1]
    assert (kept.level, kept.message) == ("WARNING", line.partition("WARNING  ")[2])


@pytest.mark.parametrize("error", [KeyError("k"), FileNotFoundError(2, "No such file", "/a")])
def test_a_defect_shows_where_it_is(error: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    first, *others = lines_of(error, capsys)
    assert first.endswith(" ERROR    nobody was asked; it is tried again pool=p")
    assert any("raise error" in line for line in others)
    kept = list(RECENT.entries)[-len(others) - 1 :]
    assert [entry.message for entry in kept[1:]] == others
    assert {entry.level for entry in kept} == {"ERROR"}
    assert [entry.id for entry in kept] == list(range(kept[0].id, kept[0].id + len(kept)))
