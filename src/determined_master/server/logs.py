"""The master's own log: one line an event on standard error, the last lines in memory."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections import deque
from datetime import UTC, datetime

from determined_master.domain.errors import Unavailable
from determined_master.store.connection_errors import is_away, words_of
from determined_wire.log_lines import message_of, traceback_lines

KEPT_LINES = 10_000
_LEVELS = {"trace": logging.DEBUG, "fatal": logging.CRITICAL, "warn": logging.WARNING}


class LogEntry:
    """One line of the log; `id` counts from 0 since the start. Tracebacks have several."""

    __slots__ = ("at", "id", "level", "message")

    def __init__(self, id: int, at: datetime, level: str, message: str) -> None:
        self.id = id
        self.at = at
        self.level = level
        self.message = message


def with_traceback(record: logging.LogRecord, line: str) -> str:
    """A record's line, followed by the lines of its traceback if it has one."""
    if not record.exc_info:
        return line
    return line + traceback_lines(_PLAIN.formatException(record.exc_info))


_PLAIN = logging.Formatter()


class RecentLines(logging.Handler):
    """Keeps the last lines for `GET /api/v1/master/logs`."""

    def __init__(self) -> None:
        super().__init__()
        self.entries: deque[LogEntry] = deque(maxlen=KEPT_LINES)
        self._next = 0

    def emit(self, record: logging.LogRecord) -> None:
        at = datetime.fromtimestamp(record.created, UTC)
        level = "CRITICAL" if record.levelno >= logging.CRITICAL else record.levelname
        for line in with_traceback(record, message_of(record)).split("\n"):
            self.entries.append(LogEntry(self._next, at, level, line))
            self._next += 1

    def since(self, first_id: int) -> list[LogEntry]:
        """The kept lines from an id on; all of them when that line is not kept any more."""
        with self.lock or contextlib.nullcontext():
            entries = list(self.entries)
        return entries[max(0, first_id - entries[0].id) :] if entries else []

    @property
    def next_id(self) -> int:
        return self._next


RECENT = RecentLines()


class _Line(logging.Formatter):
    """Time, level, message, then fields as `name=value`."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, followed by the traceback."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = f"{at.replace('+00:00', 'Z')} {record.levelname:<8} {message_of(record)}"
        return with_traceback(record, line)


class _ShortenPassing(logging.Filter):
    """Logs errors that pass by themselves, such as a lost database or leader, as one warning line.

    The code location helps nobody, and all loops report the failure while it lasts.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Pass every record, shortened where one line is enough."""
        error = record.exc_info[1] if record.exc_info else None
        if error is not None and (is_away(error) or isinstance(error, Unavailable)):
            record.msg = f"{record.getMessage()}: {type(error).__name__}: {words_of(error)}"
            record.args = record.exc_info = None
            record.levelno, record.levelname = logging.WARNING, "WARNING"
        return True


def configure_logging(level: str) -> None:
    """Write the log to standard error from that level on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Line())
    root = logging.getLogger()
    root.handlers = [handler, RECENT]
    for one in root.handlers:
        one.filters = [_ShortenPassing()]
    set_level(level)
    for noisy in ("uvicorn.error", "uvicorn.access", "websockets", "asyncio"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


def set_level(level: str) -> None:
    """Write lines from that level on, in the form of the setting `log.level`."""
    number = _LEVELS.get(level) or logging.getLevelNamesMapping().get(level.upper(), logging.INFO)
    logging.getLogger().setLevel(number)
