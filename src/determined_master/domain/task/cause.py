"""Why a program failed: one cause of bounded size, and its sentence for people.

All of its texts come from a task, which is not trusted: each has a bound, and no character of it
can move the cursor of a terminal, hide others or reverse their order.
"""

from __future__ import annotations

import re
import signal
import unicodedata
from typing import Literal

import msgspec

MAX_TYPE = 128
MAX_MESSAGE = 1000
MAX_FILE = 255
MAX_SENTENCE = 300
MAX_LINE_NUMBER = 10_000_000

CauseKind = Literal[
    "exception",  # a traceback of Python
    "output",  # the last lines that another program wrote to stderr
    "signal",  # a signal ended it
    "memory",  # the kernel killed it for its memory
    "exit",  # an exit code, and nothing was written
]

NOT_EXECUTABLE, NOT_FOUND = 126, 127
"""Exit codes of a shell."""
_NO_SCRIPT = re.compile(r"\S{1,200}: can't open file .{1,500}: \[Errno 2\] .{1,100}")
"""The answer of Python to a script that is not there."""
_STYLE = re.compile(r"\x1b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)?")
"""Sequences for a terminal, such as colours."""
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Categories of characters that are not seen, among them those that change the direction."""
_JOINERS = "\N{ZERO WIDTH JOINER}\N{ZERO WIDTH NON-JOINER}"


class FailureCause(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why one attempt failed."""

    kind: CauseKind
    type: str = ""
    """The class of the exception, or the name of the signal."""
    message: str = ""
    file: str = ""
    """Where the user's code raised it; relative to the work directory where it is below that."""
    line: int = 0
    log_position: int = 0
    """The id of its line in the log of the task; 0 if it has none."""
    rank: int = 0
    exit_code: int | None = None


def plain(text: str, most: int) -> str:
    """A text of a task without what a terminal obeys; what cannot be seen is escaped.

    Line feeds stay. At most `most` characters, the last of which is then an ellipsis.
    """
    visible = "".join(map(_visible, _STYLE.sub("", text[: 4 * most])))
    return visible if len(visible) <= most else f"{visible[: most - 1]}…"


def sentence(cause: FailureCause) -> str:
    """The cause in one line: `AttributeError: no attribute 'shape' · train.py:40`."""
    where = f" · {cause.file}:{cause.line}" if cause.file else ""
    return f"{_one_line(_what(cause), MAX_SENTENCE)}{where}"


def killed_for_memory(cause: FailureCause, limit_bytes: int, peak_bytes: int) -> FailureCause:
    """The same end where its cgroup, or its runtime, says that the kernel killed it.

    Another process of the container may be the one that was killed: an exception stays the cause.
    """
    if cause.kind == "exception":
        return cause
    sizes = [("limit", limit_bytes), ("peak", peak_bytes)]
    told = ", ".join(f"{name} {_size(size)}" for name, size in sizes if size)
    return msgspec.structs.replace(cause, kind="memory", message=f" ({told})" if told else "")


def is_final(cause: FailureCause | None) -> bool:
    """Whether another attempt must fail like this one: a program or its script is not there."""
    if cause is None or cause.kind != "output":
        return False
    if cause.exit_code in (NOT_EXECUTABLE, NOT_FOUND):
        return True
    last = cause.message.rpartition("\n")[2]
    return cause.exit_code == 2 and _NO_SCRIPT.fullmatch(last) is not None


def signal_of(exit_code: int | None) -> str:
    """The name of the signal that an exit code stands for; empty for none."""
    if exit_code is None or not 128 < exit_code <= 128 + 64:
        return ""
    try:
        return signal.Signals(exit_code - 128).name
    except ValueError:
        return ""


def _what(cause: FailureCause) -> str:
    match cause.kind:
        case "exception":
            return f"{cause.type}: {cause.message}" if cause.message else cause.type
        case "output":
            last = cause.message.rstrip().rpartition("\n")[2].strip()
            return f"{last} (exit code {cause.exit_code})"
        case "signal":
            text = f"ended by signal {(cause.exit_code or 128) - 128} ({cause.type})"
            last = cause.message.rstrip().rpartition("\n")[2].strip()
            return f"{text}: {last}" if last else text
        case "memory":
            return f"killed, out of memory{cause.message}"
        case "exit":
            return f"exit code {cause.exit_code}, and nothing on stderr"


def _one_line(text: str, most: int) -> str:
    joined = " ".join(text.split())
    return joined if len(joined) <= most else f"{joined[: most - 1]}…"


def _size(count: int) -> str:
    number, unit = (count / 1e9, "GB") if count >= 1e9 else (count / 1e6, "MB")
    return f"{number:.1f}".removesuffix(".0") + f" {unit}"


def _visible(character: str) -> str:
    if character in "\n\t" or character in _JOINERS:
        return character
    if unicodedata.category(character) not in _HIDDEN:
        return character
    return "\N{REPLACEMENT CHARACTER}" if character == "\0" else f"\\u{ord(character):04x}"
