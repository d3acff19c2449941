"""Forwarding of signals from this process to its child processes."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from typing import Any, Dict, Iterator, List

from determined._constants import FORWARDED_SIGNALS


def forwarded_signals() -> List[signal.Signals]:
    """The signals that each process of the entry chain forwards."""
    return [getattr(signal, name) for name in FORWARDED_SIGNALS]


@contextlib.contextmanager
def forward_signals(
    p: subprocess.Popen[Any], *signums: signal.Signals, signal_children: bool = False
) -> Iterator[None]:
    """Forward signals to process `p` while the block runs.

    Args:
        p: the process.
        signums: signals to forward; by default those of the entry chain.
        signal_children: forward them to all descendants of `p` too.
    """

    def forward(signum: int, _frame: Any) -> None:
        if signal_children:
            signal_process_tree(p, signum)
        else:
            with contextlib.suppress(ProcessLookupError):
                p.send_signal(signum)

    before = {s: signal.signal(s, forward) for s in (signums or forwarded_signals())}
    try:
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)


def signal_process_tree(p: subprocess.Popen[Any], signum: int) -> None:
    """Send a signal to a process and to its descendants, as /proc lists them."""
    for pid in [*descendants(p.pid), p.pid]:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signum)


def descendants(root: int) -> List[int]:
    """Descendants of process `root`, the deepest first; empty where there is no /proc."""
    children: Dict[int, List[int]] = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc") else []:
        if name.isdigit():
            parent = _parent_of(int(name))
            if parent is not None:
                children.setdefault(parent, []).append(int(name))
    found: List[int] = []
    pending = [root]
    while pending:
        for child in children.get(pending.pop(), []):
            found.append(child)
            pending.append(child)
    return found[::-1]


def exit_code_of(returncode: int) -> int:
    """The exit code as a shell reports it: 128 + n for a process killed by signal n."""
    return returncode if returncode >= 0 else 128 - returncode


def _parent_of(pid: int) -> Any:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return int(file.read().rpartition(")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return None
