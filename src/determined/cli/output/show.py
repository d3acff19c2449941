"""Prints tables, CSV, JSON and YAML, and formats single values."""

from __future__ import annotations

import json
import os
import select
import shutil
import sys
from typing import Any, Optional, Sequence

from determined.cli.output import plain_table, plain_yaml
from determined.common.api import states

Rows = Sequence[Sequence[Any]]


def table(headers: Sequence[str], rows: Rows, as_csv: bool = False) -> None:
    """Print rows as CSV, as a table fitted to a terminal, or as a plain table elsewhere."""
    if as_csv:
        _csv(headers, rows)
    elif sys.stdout.isatty():
        _fitted(headers, rows)
    else:
        print(plain_table.draw(headers, rows))


def as_json(data: Any) -> None:
    """Print data as JSON, keys sorted."""
    print(json.dumps(data, indent=2, sort_keys=True, ensure_ascii=False))


def as_yaml(data: Any) -> None:
    """Print data as YAML, keys sorted."""
    print(plain_yaml.dump(data))


def instant(text: Optional[str]) -> str:
    """An RFC 3339 instant in UTC as `YYYY-MM-DD hh:mm:ss+0000`; None is empty."""
    return f"{text[:10]} {text[11:19]}+0000" if text else ""


def state(text: Optional[str]) -> str:
    """`STATE_COMPLETED` as `COMPLETED`; no state is empty."""
    name = (text or "").rsplit("STATE_", 1)[-1]
    return "" if name == "UNSPECIFIED" else name


def print_stop(what: str, done: str, state_before: str) -> None:
    """Print that something was stopped, or that it had ended before.

    Args:
        what: its kind and id, as in `trial 7`.
        done: what was done to it, as in `Killed`.
        state_before: its state before that, as the API names it.
    """
    before = state(state_before)
    if before in states.ENDED:
        print(f"{what[0].upper()}{what[1:]} had ended already: {before}", flush=True)
    else:
        print(f"{done} {what}", flush=True)


def percent(share: Optional[float]) -> str:
    """A fraction of 1 as `12.5%`; None is empty."""
    return "" if share is None else f"{share * 100:.1f}%"


def block(data: Any) -> str:
    """Nested data for one cell, as indented JSON."""
    return json.dumps(data, indent=4, sort_keys=True, ensure_ascii=False)


def size(count_bytes: float) -> str:
    """Bytes as `31.0B`, `1.5KB`, …"""
    for unit in ("", "K", "M", "G", "T", "P"):
        if abs(count_bytes) < 1024.0:
            return f"{count_bytes:.1f}{unit}B"
        count_bytes /= 1024.0
    return f"{count_bytes:.1f}EB"


def stop_without_reader() -> None:
    """Raise BrokenPipeError if the reader of stdout is gone. For loops that write nothing yet."""
    try:
        output = sys.stdout.fileno()
    except (AttributeError, ValueError):  # a replacement without a file descriptor
        return
    watch = select.poll()
    watch.register(output, 0)
    if any(event & select.POLLERR for _, event in watch.poll(0)):
        raise BrokenPipeError


def _csv(headers: Sequence[str], rows: Rows) -> None:
    import csv  # imported only for CSV output

    writer = csv.writer(sys.stdout)
    writer.writerow(headers)
    writer.writerows(["" if cell is None else cell for cell in row] for row in rows)


def _fitted(headers: Sequence[str], rows: Rows) -> None:
    from determined.cli.output import fitted_table  # only a terminal gets drawn tables

    width = shutil.get_terminal_size((80, 24)).columns
    is_styled = os.environ.get("TERM", "dumb") != "dumb" and "NO_COLOR" not in os.environ
    print(fitted_table.draw(headers, rows, width, is_styled))
