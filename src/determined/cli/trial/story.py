"""The story of a trial or an experiment: its journal, with times and causes."""

from __future__ import annotations

import argparse
import collections
import json
import re
import time
from typing import Any, Dict, Iterator, List, Mapping, Tuple

from determined.cli.declare import Arg, flag
from determined.cli.output import show
from determined.common.api import BaseSession

_PAGE = 500
_POLL_S = 1.0
_INTERNAL = re.compile(r"(effect|failed|timer|agent):")
"""Causes that name parts of the journal."""
_TERMINAL = ("COMPLETED", "CANCELED", "ERROR")


def arguments() -> Tuple[Arg, ...]:
    """The options of every `story` command."""
    return (
        flag("--json", help="Output in JSON format, one line each"),
        flag("-f", "--follow", help="follow new events until the end"),
        flag("--verbose", help="show causes inside of the master, and ids of allocations"),
    )


def print_story(session: BaseSession, kind: str, number: int, args: argparse.Namespace) -> None:
    """Print the story of a trial (kind `trials`) or an experiment (`experiments`)."""
    path = f"/api/v1/{kind}/{number}/story"
    offset = 0
    while True:
        had_ended = args.follow and _has_ended(session, kind, number)
        lines: List[Dict[str, Any]] = session.get(
            path, params={"limit": _PAGE, "offset": offset}
        ).json()["lines"]
        for line in lines:
            print(
                json.dumps(line) if args.json else _sentence(line, args.verbose), flush=args.follow
            )
        offset += len(lines)
        if len(lines) == _PAGE:
            continue
        if not args.follow or had_ended:
            return
        show.stop_without_reader()
        time.sleep(_POLL_S)


def _has_ended(session: BaseSession, kind: str, number: int) -> bool:
    body = session.get(f"/api/v1/{kind}/{number}").json()
    state = str(body[kind[:-1]]["state"])
    return state.rsplit("STATE_", 1)[-1] in _TERMINAL


def _sentence(line: Dict[str, Any], is_verbose: bool = True) -> str:
    """One line: time, aggregate, event, details, cause and effects."""
    at = re.sub(r"(\.\d{3})\d+", r"\1", line["at"])  # to the millisecond
    text = f"{at}  {line['aggregate']}  {line['event'].replace('_', ' ')}"
    detail = line.get("detail")
    if detail:
        text += f"  {detail if isinstance(detail, str) else ' '.join(_details(detail))}"
    if is_verbose or not _INTERNAL.match(line["cause"]):
        text += f"  because of {line['cause']}"
    names = [
        e if isinstance(e, str) else str(e.get("type") or json.dumps(e))
        for e in line.get("effects") or ()
    ]
    if names:
        counted = collections.Counter(name.replace("_", " ") for name in names)
        orders = (f"{name} ({count})" if count > 1 else name for name, count in counted.items())
        text += f"  -> {', '.join(orders)}"
    return text


def _details(detail: Mapping[str, Any]) -> Iterator[str]:
    """`name=value` for every set detail, without the names of enclosing objects."""
    for name, value in detail.items():
        if isinstance(value, dict):
            yield from _details(value)
        elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
            for item in value:
                yield from _details(item)
        elif isinstance(value, list) and value:
            yield f"{name}={json.dumps(value, separators=(',', ':'))}"
        elif value not in (None, "", [], {}):
            yield f"{name}={json.dumps(value)}"
