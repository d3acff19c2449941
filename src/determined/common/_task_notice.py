"""Lines of a task's log that the master also keeps with the task's run.

The output is the one channel of a task that reaches the master in spite of a proxy or a firewall.
A mark in the line names the kind of the notice; the master removes it and stores the rest.
Terminals do not show it.
"""

from __future__ import annotations

import os
import sys

MARK = "\x1b]7337;determined;{kind}\x07"
"""An operating system command; the master's `domain.task.notices` reads it."""
MASTER_AWAY = "master_away"
MASTER_BACK = "master_back"
MAIN_THREAD_ENDED = "main_thread_ended"


def write(kind: str, text: str, level: str = "WARNING") -> None:
    """Write a line of text to the log; inside a task, with the mark of its kind."""
    mark = MARK.format(kind=kind) if os.environ.get("DET_ALLOCATION_ID") else ""
    sys.stderr.write(f"{level}: [{os.getpid()}] determined: {mark}{text}\n")
    sys.stderr.flush()
