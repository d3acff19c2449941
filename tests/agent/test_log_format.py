"""The agent's own log."""

from __future__ import annotations

import logging
import sys

import pytest
from tests.covers import covers

from determined_agent.log_format import LineFormatter, configure_logging


def test_a_line_has_time_level_message_and_fields() -> None:
    fields = {"container": "c1", "state": "RUNNING"}
    record = logging.makeLogRecord({"msg": "changed", "levelname": "INFO", "created": 0, **fields})
    assert LineFormatter().format(record) == (
        "1970-01-01T00:00:00.000Z INFO     changed container=c1 state=RUNNING"
    )


def test_an_exception_is_written_below_its_line() -> None:
    try:
        raise ValueError("why")
    except ValueError:
        record = logging.makeLogRecord({"msg": "failed", "exc_info": sys.exc_info()})
    assert LineFormatter().format(record).endswith("\n  ValueError: why")


@covers("agent-config 2.log.color")
@pytest.mark.parametrize(
    ("is_terminal", "color", "begins"),
    [(True, True, "\x1b[33mWARNING"), (True, False, "WARNING"), (False, True, "WARNING")],
)
def test_a_terminal_gets_colors_unless_they_are_disabled(
    monkeypatch: pytest.MonkeyPatch, is_terminal: bool, color: bool, begins: str
) -> None:
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", root.handlers)
    monkeypatch.setattr(root, "level", root.level)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal, raising=False)
    configure_logging("info", color=color)
    record = logging.makeLogRecord({"msg": "m", "levelname": "WARNING", "levelno": 30})
    line = root.handlers[0].format(record)
    assert line.split(" ", 1)[1].startswith(begins)
    assert line.endswith("m")
