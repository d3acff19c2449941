"""Finding N13: an agent's id, or any other field, forges lines of the master's or agent's log."""

from __future__ import annotations

import logging

import pytest

from determined_agent.log_format import LineFormatter
from determined_master.server.logs import RECENT, configure_logging

FORGED = "2026-01-01T00:00:00.000Z INFO     user admin logged in"
ENDS = ("\n", "\r", "\r\n", "\v", "\f", "\x1c", "\x85", "\u2028", "\u2029", "\x1b[2K\x1b[1A", "\b")


@pytest.fixture(autouse=True)
def restored(monkeypatch: pytest.MonkeyPatch) -> None:
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", root.handlers)
    monkeypatch.setattr(root, "level", root.level)


def written(text: str, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """What the logs contain of an event with this text in message, arguments, field and error."""
    configure_logging("info")
    logger = logging.getLogger("determined_master.backends")
    first = RECENT.entries[-1].id + 1 if RECENT.entries else 0
    try:
        raise ValueError(text)
    except ValueError:
        logger.exception(f"{text} %s", text, extra={"agent": text, "ids": (text,)})
    configured = logging.getLogger().handlers[0]
    record = logging.makeLogRecord({"msg": "%s", "args": (text,), "agent": text, "levelno": 20})
    return {
        "master": capsys.readouterr().err,
        "recent": "\n".join(entry.message for entry in RECENT.since(first)),
        "agent": LineFormatter().format(record),
        "again": configured.format(record),
    }


@pytest.mark.parametrize("end", ENDS, ids=ascii)
def test_no_text_of_others_begins_a_line(end: str, capsys: pytest.CaptureFixture[str]) -> None:
    for place, text in written(f"evil{end}{FORGED}", capsys).items():
        assert not any(line.startswith(FORGED[:20]) for line in text.splitlines()), place
        assert "\x1b" not in text, place
        assert "\b" not in text, place
        first = text.splitlines()[0]
        assert first.count(FORGED) >= 2, "message and field are shown, on their line"


def test_a_field_does_not_forge_another_one(capsys: pytest.CaptureFixture[str]) -> None:
    for place, text in written('a" user=admin', capsys).items():
        assert 'agent="a\\" user=admin"' in text, place


def test_the_text_of_an_error_stays_below_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    said = written(f"evil\n{FORGED}", capsys)["master"]
    assert f"\n  {FORGED}\n" in said
    assert "Traceback" in said
