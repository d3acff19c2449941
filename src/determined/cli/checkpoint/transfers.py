"""Options and progress bars of commands that upload or download files."""

from __future__ import annotations

import contextlib
import sys
import threading
from typing import Callable, Iterator, Optional

from determined.cli.declare import flag
from determined.common import progress

BytesMoved = Callable[[int], None]
_BAR_AND_TIMES = 50
"""Columns of a terminal that the bar, bytes, speed and time take beside the label."""
NO_VERIFY = flag(
    "--no-verify",
    help="do not compare the downloaded files with their stored hashes",
)


@contextlib.contextmanager
def progress_bar(label: str, total: int, is_quiet: bool = False) -> Iterator[Optional[BytesMoved]]:
    """Show a progress bar on stderr while the context is open.

    Args:
        label: the name of the transferred thing.
        total: its size in bytes.
        is_quiet: show nothing.

    Returns:
        A callback for the number of newly transferred bytes, safe in any thread. None if no bar
        is shown, as when stderr is not a terminal.
    """
    if is_quiet or not sys.stderr.isatty():
        yield None
        return
    if not progress.has_bars():
        with progress.rewritten() as replace:
            yield _counted(label, total, replace)
        return
    import rich.console  # 90 ms, and only a terminal gets bars
    import rich.progress

    columns = [
        rich.progress.TextColumn("{task.description}", markup=False),
        rich.progress.DownloadColumn(),
    ]
    console = rich.console.Console(stderr=True)
    if console.width >= len(label) + _BAR_AND_TIMES:
        columns.insert(1, rich.progress.BarColumn())
        columns += [rich.progress.TransferSpeedColumn(), rich.progress.TimeRemainingColumn()]
    with rich.progress.Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda count: bar.advance(task, count)


def _counted(label: str, total: int, replace: progress.StatusCallback) -> BytesMoved:
    """A callback that shows the megabytes so far; threads call it one at a time."""
    lock, moved = threading.Lock(), 0

    def move(count: int) -> None:
        nonlocal moved
        with lock:
            moved += count
            replace(f"{label} {moved / 2**20:.1f} of {total / 2**20:.1f} MB")

    return move
