"""`det notebook share` and `det shell share`: who may enter a task besides its owner."""

from __future__ import annotations

import argparse
from urllib.parse import quote

from determined.cli import connect, errors
from determined.cli.declare import Command, arg, flag
from determined.cli.interactive import ids, kinds
from determined.cli.output import show

HEADERS = ("User", "Group", "Shared By", "Since")


def command(kind: kinds.TaskKind) -> Command:
    """The command for one kind of task."""
    return Command(
        "share",
        f"let others into {kind.title}, or list them",
        "determined.cli.interactive.share:share",
        (
            kinds.id_argument(kind),
            arg("--user", dest="users", action="append", default=[], help="user; may be repeated"),
            arg(
                "--group",
                dest="groups",
                action="append",
                default=[],
                help="group; may be repeated",
            ),
            flag("--revoke", help="let these users and groups in no longer"),
            kinds.OUTPUT_FORMATS,
        ),
    )


def share(args: argparse.Namespace) -> None:
    """Let users and groups in, or no longer; print everybody who may enter."""
    kind = kinds.kind_from_args(args)
    session = connect.session(args)
    task_id = ids.full(session, kind, getattr(args, kind.id_name))
    path = f"/api/v1/tasks/{quote(task_id, safe='')}/shares"
    if args.users or args.groups:
        body = {"users": args.users, "groups": args.groups}
        answer = session.post(f"{path}/revoke" if args.revoke else path, json=body).json()
    elif args.revoke:
        raise errors.CliError("--revoke needs --user or --group")
    else:
        answer = session.get(path).json()
    if args.json:
        show.as_json(answer["shares"])
        return
    rows = [
        (one["username"], one["group"], one["sharedBy"], show.instant(one["sharedAt"]))
        for one in answer["shares"]
    ]
    show.table(HEADERS, rows, args.csv)
