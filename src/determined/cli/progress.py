"""A bar for what has a share that is done; where standard error is no terminal, nothing."""

from __future__ import annotations

import contextlib
import sys
from typing import Callable, Iterator

Tell = Callable[[float, str], None]


@contextlib.contextmanager
def shown(doing: str) -> Iterator[Tell]:
    """A bar while the block runs, to be told the share, 0 to 1, and what is going on."""
    if not sys.stderr.isatty():
        yield lambda share, text: None
        return
    import rich.console  # 90 ms, and only a terminal gets bars
    import rich.progress

    columns = (
        rich.progress.TextColumn("{task.description}", markup=False),
        rich.progress.BarColumn(),
        rich.progress.TaskProgressColumn(),
        rich.progress.TimeElapsedColumn(),
    )
    console = rich.console.Console(stderr=True)
    with rich.progress.Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(doing, total=1.0)
        yield lambda share, text: bar.update(task, completed=share, description=f"{doing} {text}")
