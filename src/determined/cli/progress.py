"""Progress bars on the terminal; where standard error is none, nothing is shown."""

from __future__ import annotations

import contextlib
import os
import pathlib
import sys
import threading
from typing import Any, Callable, Iterator, Mapping

Tell = Callable[[float], None]
"""Told how much is done, in the unit of the total."""
_LOOK_S = 0.2


@contextlib.contextmanager
def of_bytes(doing: str, total_bytes: int) -> Iterator[Tell]:
    """A bar over bytes, with speed and time left, gone at its end."""
    if not sys.stderr.isatty():
        yield _silent
        return
    from rich import progress  # 100 ms, for terminals alone

    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.DownloadColumn(),
        progress.TransferSpeedColumn(),
        progress.TimeRemainingColumn(),
    )
    with _bar(columns) as bar:
        task = bar.add_task(doing, total=total_bytes or None)
        yield lambda done: bar.update(task, completed=done)


@contextlib.contextmanager
def of_share(doing: str) -> Iterator[Callable[[float, str], None]]:
    """A bar from 0 to 1; with each call a text may say what is going on."""
    if not sys.stderr.isatty():
        yield lambda share, text: None
        return
    from rich import progress

    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.TaskProgressColumn(),
        progress.TimeElapsedColumn(),
    )
    with _bar(columns) as bar:
        task = bar.add_task(doing, total=1.0)
        yield lambda share, text: bar.update(task, completed=share, description=f"{doing} {text}")


@contextlib.contextmanager
def of_files(doing: str, target: pathlib.Path, sizes: Mapping[str, Any]) -> Iterator[None]:
    """A bar over files that grow in a directory while something else writes them.

    Args:
        doing: what is shown beside the bar.
        target: the directory, there already or not.
        sizes: name below it -> size in bytes once it is complete.
    """
    with of_bytes(doing, sum(int(size) for size in sizes.values())) as tell:
        if tell is _silent:
            yield
            return
        is_over = threading.Event()

        def watch() -> None:
            while not is_over.wait(_LOOK_S):
                tell(_written(target, sizes))

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            is_over.set()
            watcher.join()


def _bar(columns: Any) -> Any:
    from rich import console, progress

    return progress.Progress(*columns, console=console.Console(stderr=True), transient=True)


def _silent(done: float) -> None:
    """Nobody looks."""


def _written(target: pathlib.Path, sizes: Mapping[str, Any]) -> int:
    total = 0
    for name in sizes:
        with contextlib.suppress(OSError):
            if not name.endswith("/"):
                total += os.stat(target / name).st_size
    return total
