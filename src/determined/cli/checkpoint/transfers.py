"""What commands that move files share: an option, and bars for those who watch a terminal."""

from __future__ import annotations

import contextlib
import sys
from typing import Callable, Iterator, Optional

from determined.cli.declare import flag

BytesMoved = Callable[[int], None]
_BAR_AND_TIMES = 50
"""Columns of a terminal that a bar, bytes, speed and time take besides the label."""
NO_VERIFY = flag(
    "--no-verify",
    help="take files that differ from what was stored; else each is compared with its hash",
)


@contextlib.contextmanager
def shown(label: str, total: int, is_quiet: bool = False) -> Iterator[Optional[BytesMoved]]:
    """A bar on stderr while the block runs.

    Args:
        label: what is moved.
        total: its bytes.
        is_quiet: show nothing.

    Returns:
        To be called with how many more bytes were moved, from any thread; None when nothing is
        shown, which is so where stderr is no terminal.
    """
    if is_quiet or not sys.stderr.isatty():
        yield None
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
