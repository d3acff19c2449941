"""The agent's own log: one line per event, on standard error."""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime

from determined_wire.log_lines import message_of, traceback_lines

_LEVELS = {"trace": logging.DEBUG, "fatal": logging.CRITICAL, "warn": logging.WARNING}

_COLORS = {logging.DEBUG: 2, logging.WARNING: 33, logging.ERROR: 31, logging.CRITICAL: 31}
"""ANSI codes; levels without one are not colored."""


class LineFormatter(logging.Formatter):
    """Formats time, level, message, and the extra fields as `name=value`."""

    def __init__(self, *, is_colored: bool = False) -> None:
        super().__init__()
        self._is_colored = is_colored

    def format(self, record: logging.LogRecord) -> str:
        """Return one line, with an exception's traceback below it."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        level = f"{record.levelname:<8}"
        if self._is_colored and record.levelno in _COLORS:
            level = f"\x1b[{_COLORS[record.levelno]}m{level}\x1b[0m"
        line = f"{at.replace('+00:00', 'Z')} {level} {message_of(record)}"
        if record.exc_info:
            line += traceback_lines(self.formatException(record.exc_info))
        return line


def configure_logging(level: str, *, color: bool = False) -> None:
    """Log to standard error from that level on; `color` applies to terminals only.

    The WebSocket library is excluded from `debug`: it would log frames, and the tokens in them.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(LineFormatter(is_colored=color and sys.stderr.isatty()))
    root = logging.getLogger()
    root.handlers = [handler]
    number = logging.getLevelNamesMapping().get(level.upper(), logging.INFO)
    root.setLevel(_LEVELS.get(level, number))
    for name in ("websockets", "asyncio"):
        logging.getLogger(name).setLevel(logging.WARNING)
