"""Lines of the logs of master and agent: one line for each event, whatever its fields contain.

Many fields come from others: ids of agents, names, texts of errors. If one of them could contain a
line feed or an escape sequence, its author could write lines of the log that never happened.
"""

from __future__ import annotations

import logging

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def on_one_line(text: str) -> str:
    """The text with escapes for everything that is not printable: `\\n`, `\\x1b`, `\\u2028`."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def message_of(record: logging.LogRecord) -> str:
    """The message and its fields as `name=value`, on one line."""
    fields = (f" {k}={_value(v)}" for k, v in vars(record).items() if k not in _STANDARD)
    return on_one_line(record.getMessage()) + "".join(fields)


def traceback_lines(text: str) -> str:
    """A traceback below its line; it is indented, so that its text cannot begin a line."""
    return "".join(f"\n  {on_one_line(line)}" for line in text.splitlines())


def _value(value: object) -> str:
    """A value; in quotes if it could be taken for more than one field."""
    text = on_one_line(str(value))
    if "=" not in text and '"' not in text:
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
