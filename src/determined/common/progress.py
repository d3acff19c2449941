"""Progress while a command or a script waits: a bar or a status line on stderr, or in a notebook.

Bars of a terminal are drawn by `rich`, which the extra `progress` installs; without it, a line is
rewritten.
"""

from __future__ import annotations

import contextlib
import html
import importlib.util
import sys
from typing import Any, Callable, Iterator, Optional

ProgressCallback = Callable[[float, str], None]
StatusCallback = Callable[[str], None]


def has_bars() -> bool:
    """Whether bars can be drawn here."""
    return importlib.util.find_spec("rich") is not None


@contextlib.contextmanager
def rewritten() -> Iterator[StatusCallback]:
    """One line of the terminal that each text replaces; it is cleared at the end."""
    try:
        yield lambda text: _write(f"\r{text}\x1b[K")
    finally:
        _write("\r\x1b[K")


@contextlib.contextmanager
def progress_bar(doing: str) -> Iterator[ProgressCallback]:
    """Show a progress bar while the context is open; the callback takes a fraction and a text.

    Shows nothing if stderr is not a terminal and this is no notebook.
    """
    display = _notebook_display()
    if display is not None:
        handle = display.display(display.HTML(""), display_id=True)
        try:
            yield lambda share, text: handle.update(display.HTML(_html_bar(doing, share, text)))
        finally:
            handle.update(display.HTML(""))
        return
    if not sys.stderr.isatty():
        yield lambda share, text: None
        return
    if not has_bars():
        with rewritten() as replace:
            yield lambda share, text: replace(f"{doing} {text} {share:4.0%}")
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


@contextlib.contextmanager
def status(about: str) -> Iterator[StatusCallback]:
    """Show one changing status line while the context is open; a line per change elsewhere."""
    if not sys.stderr.isatty():
        previous = ""

        def line(text: str) -> None:
            nonlocal previous
            if text != previous:
                previous = text
                _write(f"{about}: {text}\n")

        yield line
        return
    if not has_bars():
        with rewritten() as replace:
            yield lambda text: replace(f"{about}: {text}")
        return
    import rich.console  # 90 ms, and only a terminal gets it
    import rich.markup

    console = rich.console.Console(stderr=True)
    with console.status(rich.markup.escape(about)) as shown_status:
        yield lambda text: shown_status.update(rich.markup.escape(f"{about}: {text}"))


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


def _notebook_display() -> Optional[Any]:
    """The display of the notebook that runs this program; None elsewhere."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    import IPython.display  # a notebook has imported it

    return IPython.display


def _html_bar(doing: str, share: float, text: str) -> str:
    label = html.escape(f"{doing} {text}")
    return f'<label>{label} <progress value="{share:.3f}" max="1"></progress> {share:.0%}</label>'
