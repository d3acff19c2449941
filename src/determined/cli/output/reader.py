"""Whoever reads what a command prints: whether they are still there."""

from __future__ import annotations

import select
import sys


def stop_without_reader() -> None:
    """Raise BrokenPipeError once nobody reads our output; who writes nothing would not see it."""
    try:
        output = sys.stdout.fileno()
    except (AttributeError, ValueError):  # a stand-in without a descriptor
        return
    watch = select.poll()
    watch.register(output, 0)
    if any(event & select.POLLERR for _, event in watch.poll(0)):
        raise BrokenPipeError
