"""`det task`: tasks of every type, and the logs that they leave."""

from __future__ import annotations

import argparse
import json
from typing import Any, List
from urllib.parse import quote

from determined.cli import connect, log_stream, show
from determined.cli.declare import Command, OneOf, arg, flag

_HERE = "determined.cli.task"
_ID = arg("task_id", help="task ID")

NOUN = Command(
    "task",
    "manage tasks (commands, experiments, notebooks, shells, tensorboards)",
    commands=(
        Command(
            "cleanup-logs",
            "remove the logs that are kept no longer",
            f"{_HERE}:clean_up_logs",
        ),
        Command(
            "config",
            "display task config",
            f"{_HERE}:config",
            (_ID, flag("--json", help="Output in JSON format")),
        ),
        Command(
            "kill",
            "kill task",
            f"{_HERE}:kill",
            (_ID, flag("--root", help="also the tasks above it, from the first on")),
        ),
        Command(
            "list|ls",
            "list tasks in cluster",
            f"{_HERE}:list_tasks",
            (
                OneOf(
                    (
                        flag("--csv", help="Output in CSV format"),
                        flag("--json", help="Output in JSON format"),
                    )
                ),
            ),
            is_default=True,
        ),
        Command(
            "logs",
            "fetch task logs",
            f"{_HERE}:logs",
            (_ID, *log_stream.arguments(of_task=True)),
        ),
    ),
)

_HEADERS = (
    "Task ID",
    "Allocation ID",
    "Name",
    "Slots Needed",
    "Registered Time",
    "Agent",
    "Priority",
    "Resource Pool",
    "Ports",
)


def list_tasks(args: argparse.Namespace) -> None:
    """Print every allocation that is not over, in the order of their tasks."""
    found = connect.session(args).get("/api/v1/tasks").json()["allocationIdToSummary"]
    if args.json:
        show.as_json(found)
        return
    summaries = sorted(found.values(), key=lambda s: (s["registeredTime"] or "", s["taskId"]))
    show.table(_HEADERS, [_row(summary) for summary in summaries], as_csv=args.csv)


def config(args: argparse.Namespace) -> None:
    """Print the configuration that a task runs by."""
    text = connect.session(args).get(f"{_path(args)}/config").json()["config"]
    shown = json.loads(text)
    if args.json:
        show.as_json(shown)
    else:
        show.as_yaml(shown)


def kill(args: argparse.Namespace) -> None:
    """End a task at once."""
    body = {"taskId": args.task_id, "killFromRoot": args.root}
    connect.session(args).post(f"{_path(args)}/kill", json=body)
    print(f"Killed task {args.task_id}")


def logs(args: argparse.Namespace) -> None:
    """Print a task's log."""
    log_stream.print_task(connect.session(args), args.task_id, args)


def clean_up_logs(args: argparse.Namespace) -> None:
    """Remove the lines of ended tasks whose time has come; for admins."""
    answer = connect.session(args).post("/api/v1/cleanup_logs").json()
    print(f"Removed {answer['removedCount']} lines of logs")


def _path(args: argparse.Namespace) -> str:
    return f"/api/v1/tasks/{quote(args.task_id, safe='')}"


def _row(summary: Any) -> List[Any]:
    agents = sorted({a for r in summary.get("resources") or () for a in r.get("agentDevices", {})})
    ports = summary.get("proxyPorts") or ()
    return [
        summary["taskId"],
        summary["allocationId"],
        summary["name"],
        summary["slotsNeeded"],
        show.instant(summary["registeredTime"]),
        "\n".join(agents) or "unassigned",
        summary.get("priority"),
        summary["resourcePool"],
        ", ".join(str(port["port"]) for port in ports),
    ]
