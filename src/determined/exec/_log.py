"""Log lines and errors of the entry chain."""

from __future__ import annotations

import os
import sys


def log(text: str, level: str = "INFO") -> None:
    """Write one line in the form of LOG_FORMAT, without importing `logging`."""
    sys.stderr.write(f"{level}: [{os.getpid()}] determined: {text}\n")
    sys.stderr.flush()


class EntryFailed(Exception):
    """The task cannot start. The text has the reason and a remedy; `code` is the exit code."""

    def __init__(self, text: str, code: int = 1) -> None:
        super().__init__(text)
        self.code = code
