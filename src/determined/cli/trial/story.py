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
from determined.common.api import BaseSession, errors

_PAGE = 500
_POLL_S = 1.0
_BY_USER = "request:"
_INTERNAL = frozenset(
    ("request_id", "allocation_id", "container_id", "experiment_id", "task_id", "task_ids",
     "trial_id", "job_id", "activate", "host_ip", "ports", "type", "session_id", "task_type",
     "name", "is_preemptible", "preemption_timeout_s", "requested_at", "submitted_at", "at",
     "weight")
)  # fmt: skip
"""Details that only somebody who looks into the master needs."""
_TERMINAL = ("COMPLETED", "CANCELED", "ERROR")


def arguments() -> Tuple[Arg, ...]:
    """The options of every `story` command."""
    return (
        flag("--json", help="Output in JSON format, one line each"),
        flag("-f", "--follow", help="follow new events until the end"),
        flag("--verbose", help="show ids, causes and effects inside of the master"),
    )


def print_story(session: BaseSession, kind: str, number: int, args: argparse.Namespace) -> None:
    """Print the story of a trial (kind `trials`) or an experiment (`experiments`)."""
    path = f"/api/v1/{kind}/{number}/story"
    offset = 0
    while True:
        had_ended = args.follow and _has_ended(session, kind, number)
        body = session.get(path, params={"limit": _PAGE, "offset": offset}).json()
        lines: List[Dict[str, Any]] = body["lines"]
        for line in lines:
            print(
                json.dumps(line) if args.json else _sentence(line, args.verbose), flush=args.follow
            )
        offset += len(lines)
        if len(lines) == _PAGE:
            continue
        if not args.follow or had_ended:
            if body.get("reason") and not args.json:
                print(f"Reason: {body['reason']}")
            return
        show.stop_without_reader()
        time.sleep(_POLL_S)


def reason_of(session: BaseSession, kind: str, number: int) -> str:
    """Why a trial or an experiment is in its state; empty where that needs no reason.

    An error of the master is no error of the command: its own work is already done.
    """
    try:
        body = session.get(f"/api/v1/{kind}/{number}/story", params={"limit": 1}).json()
    except errors.BadRequestException:  # a master of 0.38.1 keeps no stories
        return ""
    return str(body.get("reason") or "")


def _has_ended(session: BaseSession, kind: str, number: int) -> bool:
    body = session.get(f"/api/v1/{kind}/{number}").json()
    state = str(body[kind[:-1]]["state"])
    return state.rsplit("STATE_", 1)[-1] in _TERMINAL


def _sentence(line: Dict[str, Any], is_verbose: bool) -> str:
    """One line: time, aggregate, event and details; cause and effects on request."""
    at = re.sub(r"(\.\d{3})\d+", r"\1", line["at"])  # to the millisecond
    aggregate = line["aggregate"] if is_verbose else _named(line["aggregate"])
    text = f"{at}  {aggregate}  {line['event'].replace('_', ' ')}"
    shown = []
    if line.get("trialId"):
        shown.append(f"trial={line['trialId']}")
    detail = line.get("detail")
    if detail:
        shown += [detail] if isinstance(detail, str) else _details(detail, is_verbose)
    if shown:
        text += f"  {' '.join(dict.fromkeys(shown))}"
    if is_verbose:
        text += f"  because of {line['cause']}"
    elif line["cause"].startswith(_BY_USER):
        text += f"  by user {line['cause'].split(':')[1]}"
    names = [
        e if isinstance(e, str) else str(e.get("type") or json.dumps(e))
        for e in line.get("effects") or ()
    ]
    if names and is_verbose:
        counted = collections.Counter(name.replace("_", " ") for name in names)
        orders = (f"{name} ({count})" if count > 1 else name for name, count in counted.items())
        text += f"  -> {', '.join(orders)}"
    return text


def _named(aggregate: str) -> str:
    """A run by its number in place of the id of its allocation."""
    kind, _, number = aggregate.partition(" ")
    return f"run {number.rpartition('.')[2]}" if kind == "allocation" else aggregate


def _details(detail: Mapping[str, Any], is_verbose: bool) -> Iterator[str]:
    """`name=value` for every set detail, without the names of enclosing objects."""
    for name, value in detail.items():
        if name in _INTERNAL and not is_verbose:
            continue
        if isinstance(value, dict):
            yield from _details(value, is_verbose)
        elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
            for item in value:
                yield from _details(item, is_verbose)
        elif isinstance(value, list) and value:
            yield f"{name}={json.dumps(value, separators=(',', ':'))}"
        elif value not in (None, "", [], {}):
            yield f"{name}={json.dumps(value)}"
