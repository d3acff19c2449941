"""The story of a trial or an experiment: its journal, with times and causes."""

from __future__ import annotations

import argparse
import json
import re
import time
from typing import Any, Dict, List, Tuple

from determined.cli.declare import Arg, flag
from determined.cli.output import show
from determined.common import reasons
from determined.common.api import BaseSession, states

_PAGE = 500
_POLL_S = 1.0


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
        params: Dict[str, Any] = {"limit": _PAGE, "offset": offset}
        if args.verbose:
            params["isVerbose"] = "true"
        body = session.get(path, params=params).json()
        lines: List[Dict[str, Any]] = body["lines"]
        if offset == 0 and not args.json:
            for change in body.get("configChanges") or ():
                print(f"Set by others: {change}")
        for line in lines:
            print(json.dumps(line) if args.json else _timed(line), flush=args.follow)
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
    return reasons.reason_of(session, f"/api/v1/{kind}/{number}")


def _has_ended(session: BaseSession, kind: str, number: int) -> bool:
    body = session.get(f"/api/v1/{kind}/{number}").json()
    state = str(body[kind[:-1]]["state"])
    return state.rsplit("STATE_", 1)[-1] in states.ENDED


def _timed(line: Dict[str, Any]) -> str:
    """The line as the master words it, after its time to the millisecond."""
    at = re.sub(r"(\.\d{3})\d+", r"\1", line["at"])
    # Masters of the previous release send no text.
    text = line.get("text") or f"{line['aggregate']}  {line['event'].replace('_', ' ')}"
    return f"{at}  {text}"
