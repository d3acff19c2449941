"""`det task create` and `fork`: submit generic tasks."""

from __future__ import annotations

import argparse
from typing import Any, Dict

from determined.cli import connect, log_stream, submission
from determined.cli.config import config_file
from determined.common.api import BaseSession


def create(args: argparse.Namespace) -> None:
    """Start a generic task; with `-f`, follow its log."""
    body = {
        "config": config_file.text_of(args.config_file, args.config),
        "contextDirectory": submission.files(args.context, args.include),
        "projectId": args.project_id,
        "forkedFrom": args.fork,
        "parentId": args.parent,
        "inheritContext": args.inherit_context,
        "noPause": args.no_pause,
    }
    _start(connect.session(args), body, args.follow)


def fork(args: argparse.Namespace) -> None:
    """Start a copy of a task; with `-f`, follow its log."""
    body = {"config": "", "forkedFrom": args.parent_task_id, "projectId": args.project_id}
    _start(connect.session(args), body, args.follow)


def _start(session: BaseSession, body: Dict[str, Any], follow: bool) -> None:
    answer = session.post("/api/v1/generic-tasks", json=body, timeout=600.0).json()
    submission.print_warnings(answer, "task")
    print(f"Created task {answer['taskId']}", flush=True)
    if follow:
        log_stream.print_task(session, answer["taskId"], log_stream.everything(of_task=True))
