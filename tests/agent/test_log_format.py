"""The agent's own log."""

from __future__ import annotations

import logging
import sys

from determined_agent.log_format import LineFormatter


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
    assert LineFormatter().format(record).endswith("\nValueError: why")
