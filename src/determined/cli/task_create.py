"""`det task create` and `fork`: hand in a program without an experiment."""

from __future__ import annotations

import argparse
from typing import Any, Dict

from determined.cli import config_file, connect, declare, errors, log_stream
from determined.common import context
from determined.common.api import BaseSession

_WARNINGS = {
    "LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED": "more slots are asked for than the cluster has now; "
    "the task waits until agents with enough of them have joined",
}


def create(args: argparse.Namespace) -> None:
    """Start a program as a task; with `-f` follow its log."""
    try:
        files = context.read(args.context, args.include)
    except context.ContextError as error:
        raise errors.CliError(str(error)) from None
    body = {
        "config": config_file.text_of(args.config_file, args.config),
        "contextDirectory": files,
        "projectId": args.project_id,
        "forkedFrom": args.fork,
        "parentId": args.parent,
        "inheritContext": args.inherit_context,
        "noPause": args.no_pause,
    }
    _start(connect.session(args), body, args.follow)


def fork(args: argparse.Namespace) -> None:
    """Start a task once more, as it was; with `-f` follow its log."""
    body = {"config": "", "forkedFrom": args.parent_task_id, "projectId": args.project_id}
    _start(connect.session(args), body, args.follow)


def _start(session: BaseSession, body: Dict[str, Any], follow: bool) -> None:
    answer = session.post("/api/v1/generic-tasks", json=body, timeout=600.0).json()
    for warning in answer.get("warnings") or ():
        declare.warn(f"Warning: {_WARNINGS.get(warning, warning)}")
    print(f"Created task {answer['taskId']}", flush=True)
    if follow:
        log_stream.print_task(session, answer["taskId"], _everything())


def _everything() -> argparse.Namespace:
    """The arguments of a followed log without filters."""
    parser = argparse.ArgumentParser()
    options = log_stream.arguments(of_task=True)
    declare.add(parser, declare.Command("logs", "fetch task logs", "", options))
    return parser.parse_args(["--follow"])
