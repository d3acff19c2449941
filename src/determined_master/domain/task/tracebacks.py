"""Reads the cause of a failure from the last lines that a task has written.

The lines are those of the task's log, so programs without our harness are covered, and a cause
shows nothing that the log does not. Lines of several ranks may be mixed.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

import msgspec

from determined_master.domain.task.cause import (
    MAX_FILE,
    MAX_LINE_NUMBER,
    MAX_MESSAGE,
    MAX_TYPE,
    FailureCause,
    plain,
    signal_of,
)

MAX_LAST_LINES = 20
"""Of stderr, where there is no traceback; and lines that may follow one that ended the program."""
KILLED = ("SIGKILL", "SIGTERM")
"""Signals of others: an exception that the program raised before is not the cause."""

_HEADER = "Traceback (most recent call last):"
_FRAME = re.compile(r'\s+File "(.{1,4096}?)", line (\d{1,9})(?:, in .*)?\s*')
_RAISED = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_<]\w*>?){0,15})(?::\s?(.*))?")
_NOT_COMPILED = re.compile(r"(?:Syntax|Indentation|Tab)Error: ")
_GROUP = re.compile(r"(?:\s*[|+] ?){1,40}")
"""The margin of an exception group."""
_WORK_DIRECTORIES = ("/run/determined/workdir/", "/run/workdir/")
_IN_WORK_DIRECTORY = re.compile(r"(?:/[^\s'\":/]{1,100}){0,12}/run/(?:determined/)?workdir/")
_OF_OTHERS = (
    "/site-packages/",
    "/dist-packages/",
    "/lib/python3",
    "/pythonpath/determined/",
    "/opt/determined/",
)
"""In the paths of files of Python, of installed packages and of the harness."""
_HARNESS = re.compile(r"\[\d+\] determined: ")
"""What the harness tells about itself on stderr."""


class TailLine(msgspec.Struct, frozen=True):
    """One line of the end of a container's output."""

    id: int
    text: str
    is_error: bool = False
    """Whether it was written to stderr."""
    rank: int | None = None


def read_cause(lines: Sequence[TailLine], exit_code: int | None, rank: int = 0) -> FailureCause:
    """Why a program that wrote these lines at its end has failed.

    A traceback counts where it ends its rank's output, apart from a few lines of cleaning up: a
    program may print one and continue. Of several ranks, the one that raised first is the cause,
    and the others follow from it.

    Args:
        lines: the last ones, in the order of the log.
        exit_code: of its container.
        rank: of its container, for lines without a rank.
    """
    name = signal_of(exit_code)
    raised = None if name in KILLED else _first_raised(lines, rank)
    if raised is not None:
        return msgspec.structs.replace(raised, exit_code=exit_code)
    last = _last_lines(lines)
    written = "" if name in KILLED else _bounded([line.text for line in last])
    return FailureCause(
        kind="signal" if name else "output" if written else "exit",
        type=name,
        message=written,
        log_position=last[-1].id if last else 0,
        rank=_rank_of(last[-1], rank) if last else rank,
        exit_code=exit_code,
    )


def _last_lines(lines: Sequence[TailLine]) -> Sequence[TailLine]:
    """Those of the program itself on stderr."""
    return [x for x in lines if x.is_error and _is_of_program(x.text)][-MAX_LAST_LINES:]


def _rank_of(line: TailLine, rank: int) -> int:
    return rank if line.rank is None else line.rank


def _first_raised(lines: Sequence[TailLine], rank: int) -> FailureCause | None:
    streams: dict[tuple[int | None, bool], list[TailLine]] = {}
    for line in lines:
        streams.setdefault((line.rank, line.is_error), []).append(line)
    raised = [cause for stream in streams.values() if (cause := _last_raised(stream, rank))]
    return min(raised, key=lambda cause: cause.log_position, default=None)


def _last_raised(stream: Sequence[TailLine], rank: int) -> FailureCause | None:
    """The last traceback of one rank; of chained exceptions, that is the last one raised."""
    start = _start(stream)
    texts = [line.text for line in stream[start:]]
    is_group = bool(texts) and texts[0].lstrip().startswith(("|", "+"))
    texts = _without_margin(texts) if is_group else texts
    frames: list[tuple[str, int]] = []
    for at, text in enumerate(texts):
        if frame := _FRAME.fullmatch(text):
            frames.append((frame[1], int(frame[2])))
        elif frames and (raised := _RAISED.fullmatch(text.rstrip())):
            if len(texts) - at > MAX_LAST_LINES:
                return None
            after = [] if is_group else texts[at + 1 :]
            return _cause_of(stream[start + at], raised, frames, after, rank)
    return None


def _without_margin(texts: Sequence[str]) -> list[str]:
    return [_GROUP.sub("", text, count=1) for text in texts]


def _cause_of(
    line: TailLine,
    raised: re.Match[str],
    frames: Sequence[tuple[str, int]],
    after: Sequence[str],
    rank: int,
) -> FailureCause:
    file, number = _place(frames)
    return FailureCause(
        kind="exception",
        type=plain(raised[1], MAX_TYPE),
        message=_message(raised[2] or "", after),
        file=plain(file, MAX_FILE),
        line=min(number, MAX_LINE_NUMBER),
        log_position=line.id,
        rank=_rank_of(line, rank),
    )


def _start(stream: Sequence[TailLine]) -> int:
    """Where the last traceback begins; the end where there is none.

    That of a file that Python cannot compile has a place and no header.
    """
    for at in reversed(range(len(stream))):
        if stream[at].text.rstrip().endswith(_HEADER):
            return at
        if _NOT_COMPILED.match(stream[at].text):
            above = range(at - 1, max(at - 5, -1), -1)
            place = next((n for n in above if _FRAME.fullmatch(stream[n].text)), None)
            if place is not None:
                return place
    return len(stream)


def _message(first: str, after: Sequence[str]) -> str:
    """With the indented lines that belong to it."""
    more = itertools.takewhile(lambda text: text[:1].isspace() and text.strip(), after)
    return plain("\n".join([first, *itertools.islice(more, MAX_LAST_LINES)]), MAX_MESSAGE)


def _place(frames: Sequence[tuple[str, int]]) -> tuple[str, int]:
    """The last frame in the user's own code; the last of all where there is none."""
    own = [frame for frame in frames if _is_own(frame[0])]
    file, number = own[-1] if own else frames[-1]
    return _relative(file)[-MAX_FILE:], number


def _is_own(file: str) -> bool:
    if any(place in file for place in _WORK_DIRECTORIES):
        return True
    return not file.startswith("<") and not any(place in file for place in _OF_OTHERS)


def _relative(file: str) -> str:
    for place in _WORK_DIRECTORIES:
        file = file.rpartition(place)[2]
    return file


def _is_of_program(text: str) -> bool:
    return bool(text.strip()) and not _HARNESS.match(text)


def _bounded(texts: Sequence[str]) -> str:
    """The lines, the last ones where all are too long; paths as the user knows them."""
    end = "\n".join(texts)[-2 * MAX_MESSAGE :]
    return plain(_IN_WORK_DIRECTORY.sub("", end)[-MAX_MESSAGE:], MAX_MESSAGE)
