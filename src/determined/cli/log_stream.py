"""Streams of the master (one JSON object a line, `{"result": …}`), and the logs of tasks."""

from __future__ import annotations

import argparse
import json
import time
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union
from urllib.parse import quote

from determined.cli import declare, errors
from determined.cli.arguments import at_least
from determined.cli.declare import Arg, OneOf, arg, flag
from determined.cli.output import full_json
from determined.common.api import BaseSession
from determined.common.api import errors as api_errors

QUIET_S = 24 * 3600.0
"""The longest silence of a followed stream; keep-alives detect a dead connection sooner."""
_LEVELS = ("UNSPECIFIED", "TRACE", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
_UNREACHABLE_LIMIT_S = 60.0
_LOST = (OSError, api_errors.MasterNotFoundException)


def arguments(*, of_task: bool = False) -> Tuple[Union[Arg, OneOf], ...]:
    """The options of every command that prints a log; `of_task` if it takes a task ID."""
    many = "(repeat for multiple values)"
    levels: Sequence[str] = _LEVELS
    more: Tuple[Arg, ...] = ()
    if of_task:
        help_text = f"allocations to show {many}"
        levels = _LEVELS[1:]
        more = (arg("--allocation-id", dest="allocation_ids", action="append", help=help_text),)
    return (
        *more,
        flag("--json", help="Output in JSON format"),
        flag("-f", "--follow", help="follow the logs while it runs, similar to tail -f"),
        OneOf(
            (
                arg(
                    "--head",
                    type=at_least(0),
                    help="number of lines to show, from the beginning",
                ),
                arg(
                    "--tail",
                    type=at_least(0),
                    help="number of lines to show, from the end",
                ),
            )
        ),
        arg("--agent-id", dest="agent_ids", action="append", help=f"agents to show {many}"),
        arg("--container-id", dest="container_ids", action="append", help=f"containers {many}"),
        arg("--rank-id", dest="rank_ids", type=int, action="append", help=f"ranks {many}"),
        arg("--timestamp-before", help="show logs only from before (RFC 3339 format)"),
        arg("--timestamp-after", help="show logs only from after (RFC 3339 format)"),
        arg("--level", choices=levels, help="show logs with this level or higher"),
        arg("--source", dest="sources", action="append", help=f"sources to show {many}"),
        arg("--stdtype", dest="stdtypes", action="append", help=f"output streams {many}"),
    )


def everything(*, of_task: bool = False) -> argparse.Namespace:
    """The arguments to follow a log without filters."""
    parser = argparse.ArgumentParser()
    declare.add(parser, declare.Command("logs", "fetch logs", "", arguments(of_task=of_task)))
    return parser.parse_args(["--follow"])


def print_trial(session: BaseSession, trial_id: int, args: argparse.Namespace) -> None:
    """Print a trial's log as selected by `arguments`, and the command that reopens it."""
    again = f"Trial log stream ended. To reopen log stream, run: det trial logs -f {trial_id}"
    _print(session, f"/api/v1/trials/{trial_id}/logs", args, again)


def print_task(session: BaseSession, task_id: str, args: argparse.Namespace) -> bool:
    """Print a task's log in the same way. Return False if an interrupt stopped it."""
    again = f"Task log stream ended. To reopen log stream, run: det task logs -f {task_id}"
    return _print(session, f"/api/v1/tasks/{quote(task_id, safe='')}/logs", args, again)


def last(session: BaseSession, task_id: str, count: int) -> str:
    """The last lines of a task's log, formatted as in `logs`."""
    return "".join(line["message"] for line in _last(session, task_id, count)).rstrip()


def last_text(session: BaseSession, task_id: str) -> str:
    """The text of the last line of a task's log, without its prefix; empty if there is none."""
    return "".join(line.get("log") or "" for line in _last(session, task_id, 1)).strip()


def _last(session: BaseSession, task_id: str, count: int) -> List[Dict[str, Any]]:
    path = f"/api/v1/tasks/{quote(task_id, safe='')}/logs"
    params = {"limit": count, "orderBy": "ORDER_BY_DESC"}
    return list(messages(session.get(path, params=params, stream=True)))[::-1]


def _print(session: BaseSession, path: str, args: argparse.Namespace, again: str) -> bool:
    is_whole, kind = True, f"{'Trial' if '/trials/' in path else 'Task'}LogsResponse"
    try:
        for line in _lines(session, path, args):
            if args.json:
                full = full_json.completed(kind, line)
                print(json.dumps(full, indent=2, sort_keys=True), flush=args.follow)
            else:
                print(line["message"], end="", flush=args.follow)
    except KeyboardInterrupt:
        is_whole = False
    except api_errors.APIException:
        raise  # the master refused the request: there is no stream to reopen
    except Exception:
        print(again)
        raise
    print(again)
    return is_whole


def messages(response: Any) -> Iterator[Dict[str, Any]]:
    """The messages of a stream as they arrive.

    Raises:
        CliError: the master ended the stream with an error.
    """
    try:
        for raw in response.iter_lines():
            if not raw:
                continue
            body = json.loads(raw)
            if "error" in body:
                error = body["error"]
                raise errors.CliError(str(error.get("message") or error.get("error") or error))
            yield body["result"]
    finally:
        response.close()  # also when the caller stops early


def _lines(session: BaseSession, path: str, args: argparse.Namespace) -> Iterator[Dict[str, Any]]:
    params, last = _params(args), -1
    if args.tail:
        latest = {**params, "limit": args.tail, "orderBy": "ORDER_BY_DESC"}
        for line in list(messages(session.get(path, params=latest, stream=True)))[::-1]:
            last = int(line["id"])
            yield line
    if args.follow:
        yield from _followed(session, path, params, last)
    elif not args.tail:
        yield from messages(session.get(path, params=params, stream=True))


def _followed(
    session: BaseSession, path: str, params: Dict[str, Any], last: int
) -> Iterator[Dict[str, Any]]:
    """The log after line `last`; resumes where it broke when the master restarts."""
    lost_at_s: Optional[float] = None
    while True:
        try:
            response = session.get(
                path, params={**params, "follow": True}, stream=True, timeout=QUIET_S
            )
            for line in messages(response):
                lost_at_s = None
                number = int(line["id"])
                if number > last:
                    last = number
                    yield line
            return
        except _LOST as error:
            now_s = time.monotonic()
            lost_at_s = lost_at_s or now_s
            if now_s - lost_at_s > _UNREACHABLE_LIMIT_S:
                raise errors.CliError(f"the log stream broke: {error}") from error
            time.sleep(0.5)


def _params(args: argparse.Namespace) -> Dict[str, Any]:
    levels = _LEVELS[_LEVELS.index(args.level) :] if args.level else ()
    return {
        "follow": False,
        "limit": args.head,
        "allocationIds": getattr(args, "allocation_ids", None),
        "agentIds": args.agent_ids,
        "containerIds": args.container_ids,
        "rankIds": args.rank_ids,
        "timestampBefore": args.timestamp_before,
        "timestampAfter": args.timestamp_after,
        "levels": [f"LOG_LEVEL_{level}" for level in levels],
        "sources": args.sources,
        "stdtypes": args.stdtypes,
    }
