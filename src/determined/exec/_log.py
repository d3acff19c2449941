"""Lines of the entry chain in the task's log."""

from __future__ import annotations

import os
import sys


def log(text: str, level: str = "INFO") -> None:
    """Write one line, in the form of LOG_FORMAT, without the cost of `logging`."""
    sys.stderr.write(f"{level}: [{os.getpid()}] determined: {text}\n")
    sys.stderr.flush()


class EntryFailed(Exception):
    """The task cannot start; the text says why and what to do, `code` is the exit code."""

    def __init__(self, text: str, code: int = 1) -> None:
        super().__init__(text)
        self.code = code
