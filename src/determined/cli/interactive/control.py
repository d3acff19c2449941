"""The commands `config`, `logs`, `kill` and `set priority` of interactive tasks."""

from __future__ import annotations

import argparse

from determined.cli import connect, declare, errors, log_stream
from determined.cli.interactive import ids, kinds, ssh_command
from determined.cli.output import show
from determined.common.api import errors as api_errors


def config(args: argparse.Namespace) -> None:
    kind = kinds.kind_from_args(args)
    session = connect.session(args)
    task_id = ids.full(session, kind, getattr(args, kind.id_name))
    show.as_yaml(session.get(kind.path_of(task_id)).json()["config"])


def logs(args: argparse.Namespace) -> None:
    """Print a task's log, even of an old task that lists no longer show."""
    session = connect.session(args)
    task_id = ids.full(session, kinds.kind_from_args(args), args.task_id)
    log_stream.print_task(session, task_id, args)


def kill(args: argparse.Namespace) -> None:
    """Kill tasks, or say that they had ended; with `--force`, continue past failures."""
    kind = kinds.kind_from_args(args)
    session = connect.session(args)
    for prefix in getattr(args, kind.id_name):
        try:
            task_id = ids.full(session, kind, prefix)
            state = session.get(kind.path_of(task_id)).json()[kind.word]["state"]
            session.post(f"{kind.path_of(task_id)}/kill")
        except (errors.CliError, api_errors.BadRequestException) as error:
            if not args.force:
                raise
            declare.warn(f"Skipped {prefix}: {error}")
        else:
            ssh_command.forget(task_id)
            show.print_stop(f"{kind.title} {task_id}", "Killed", state)


def set_priority(args: argparse.Namespace) -> None:
    """Change the queue priority of a task."""
    kind = kinds.kind_from_args(args)
    session = connect.session(args)
    task_id = ids.full(session, kind, getattr(args, kind.id_name))
    session.post(f"{kind.path_of(task_id)}/set_priority", json={"priority": args.priority})
    print(f"Set priority of {kind.title} {task_id} to {args.priority}")
