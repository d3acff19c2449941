"""The commands `list` and `describe` of interactive tasks."""

from __future__ import annotations

import argparse
from typing import Any, Dict, List, Mapping

from determined.cli import connect, pagination
from determined.cli.experiment import display
from determined.cli.interactive import ids, kinds
from determined.cli.interactive.kinds import TaskKind
from determined.cli.output import show
from determined.cli.workspace import lookup
from determined.common.api import BaseSession, Session

_KEYS = (
    "id",
    "username",
    "description",
    "state",
    "experimentIds",
    "trialIds",
    "exitStatus",
    "resourcePool",
    "workspaceName",
)
"""Columns, with the names that scripts read."""
_TENSORBOARD_KEYS = ("experimentIds", "trialIds")


def list_all(args: argparse.Namespace) -> None:
    """Print the user's own tasks of a kind, or those of all users."""
    kind = kinds.kind_from_args(args)
    session = connect.session(args)
    tasks = _fetch(session, kind, args)
    if args.quiet:
        for task in tasks:
            print(task["id"])
        return
    if args.json:
        show.as_json(tasks)
    else:
        _table(kind, tasks, args)


def describe(args: argparse.Namespace) -> None:
    """Print one task in the format of `list`."""
    kind = kinds.kind_from_args(args)
    session = connect.session(args)
    task_id = ids.full(session, kind, getattr(args, kind.id_name))
    task = session.get(kind.path_of(task_id)).json()[kind.word]
    row = _row_of(task, _names(session))
    if args.json:
        show.as_json(row)
    else:
        _table(kind, [row], args)


def _fetch(session: Session, kind: TaskKind, args: argparse.Namespace) -> List[Dict[str, Any]]:
    params: Dict[str, Any] = {}
    if args.workspace_name:
        params["workspaceId"] = lookup.workspace(session, args.workspace_name)["id"]
    if not args.all:
        params["users"] = [display.own_name(session)]
    tasks = pagination.fetch(session, kind.path, kind.many, params)
    names = _names(session)
    rows = [_row_of(task, names) for task in tasks]
    key = args.sort_by
    return sorted(
        rows,
        key=lambda task: (str(task.get(key) or ""), task["id"]),
        reverse=args.order_by == "desc",
    )


def _names(session: BaseSession) -> Dict[int, str]:
    workspaces = session.get("/api/v1/workspaces").json()["workspaces"]
    return {workspace["id"]: workspace["name"] for workspace in workspaces}


def _row_of(task: Mapping[str, Any], names: Mapping[int, str]) -> Dict[str, Any]:
    """A task with the fields that scripts read."""
    workspace = names.get(task["workspaceId"])
    return {**task, "state": show.state(task["state"]), "workspaceName": workspace}


def _table(kind: TaskKind, tasks: List[Dict[str, Any]], args: argparse.Namespace) -> None:
    is_tensorboard = kind is kinds.TENSORBOARD
    keys = [key for key in _KEYS if is_tensorboard or key not in _TENSORBOARD_KEYS]
    show.table(keys, [[_cell(task[key]) for key in keys] for task in tasks], as_csv=args.csv)


def _cell(value: Any) -> Any:
    return ", ".join(map(str, value)) if isinstance(value, list) else value
