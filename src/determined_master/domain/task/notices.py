"""Notices that tasks write into their output for the master.

A task that cannot reach the master still has its output, which its agent or its cluster carries.
The line of a notice has a mark with the kind; users read the text behind it; nothing parses it.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

NoticeKind = Literal["master_away", "master_back", "main_thread_ended"]
MAX_TEXT = 500
_BEGIN = "\x1b]7337;determined;"
"""As in the client's `common._task_notice`."""
_MARK = re.compile("\x1b\\]7337;determined;(master_away|master_back|main_thread_ended)\x07")


class TaskNotice(msgspec.Struct, frozen=True):
    kind: NoticeKind
    text: str
    line: int
    """Its place among the lines, from 0."""


def without_marks(text: str) -> tuple[str, tuple[TaskNotice, ...]]:
    """The lines of a batch without marks, and the last notice of each kind, in order.

    An outage that is over at the end of the batch is left out: after a restart of the master, many
    tasks report theirs together.
    """
    if _BEGIN not in text:
        return text, ()
    lines = text.split("\n")
    latest: dict[NoticeKind, TaskNotice] = {}
    for number, line in enumerate(lines):
        mark = _MARK.search(line) if _BEGIN in line else None
        if mark is None:
            continue
        lines[number] = line[: mark.start()] + line[mark.end() :]
        kind: NoticeKind = mark[1]  # type: ignore[assignment]  # the pattern has these alone
        words = "".join(c if c.isprintable() else " " for c in line[mark.end() :][:MAX_TEXT])
        latest.pop(kind, None)  # the order is that of the last ones
        latest[kind] = TaskNotice(kind, words.strip(), number)
        if kind == "master_back":
            latest.pop("master_away", None)
    return "\n".join(lines), tuple(latest.values())
