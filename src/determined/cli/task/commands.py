"""`det task`: tasks of every type, and their logs."""

from __future__ import annotations

import argparse
import json
from typing import Any, List
from urllib.parse import quote

from determined.cli import connect, log_stream
from determined.cli.declare import Command, OneOf, arg, flag
from determined.cli.output import full_json, show

_HERE = "determined.cli.task.commands"
_CREATE = "determined.cli.task.create"
_CONFIG_HELP = "Additional configuration arguments, as `key=value`"
_ID = arg("task_id", help="task ID")

NOUN = Command(
    "task",
    "manage tasks (commands, experiments, notebooks, shells, tensorboards)",
    commands=(
        Command(
            "cleanup-logs",
            "remove logs whose retention has expired",
            f"{_HERE}:clean_up_logs",
        ),
        Command(
            "config",
            "display task config",
            f"{_HERE}:config",
            (_ID, flag("--json", help="Output in JSON format")),
        ),
        Command(
            "create",
            "create task",
            f"{_CREATE}:create",
            (
                arg("config_file", help="task config file (.yaml)"),
                arg("--context", "-c", help="directory that the task starts in"),
                arg(
                    "-i",
                    "--include",
                    action="append",
                    default=[],
                    help="additional files to copy into the task container",
                ),
                arg("--project_id", type=int, help="place this task inside this project"),
                arg("--config", action="append", default=[], help=_CONFIG_HELP),
                flag("-f", "--follow", help="follow the logs of the task"),
                arg("--fork", help="ID of the task that it is a fork of"),
                arg("-p", "--parent", help="ID of its parent task"),
                flag("--inherit_context", help="start in the context directory of its parent"),
                flag("--no_pause", help="users cannot pause the task"),
            ),
        ),
        Command(
            "fork",
            "fork task",
            f"{_CREATE}:fork",
            (
                arg("parent_task_id", help="ID of the task to start again"),
                flag("-f", "--follow", help="follow the logs of the task"),
                arg("--project_id", type=int, help="place this task inside this project"),
            ),
        ),
        Command(
            "kill",
            "kill task",
            f"{_HERE}:kill",
            (_ID, flag("--root", help="also kill its ancestors, starting at the root")),
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
        Command("pause", "pause task", f"{_HERE}:pause", (_ID,)),
        Command("unpause", "unpause task", f"{_HERE}:unpause", (_ID,)),
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
    """Print every running allocation, ordered by task."""
    by_allocation = connect.session(args).get("/api/v1/tasks").json()["allocationIdToSummary"]
    if args.json:
        document = {
            key: full_json.completed("AllocationSummary", one)
            for key, one in by_allocation.items()
        }
        show.as_json(document)
        return
    summaries = sorted(
        by_allocation.values(), key=lambda s: (s["registeredTime"] or "", s["taskId"])
    )
    show.table(_HEADERS, [_row(summary) for summary in summaries], as_csv=args.csv)


def config(args: argparse.Namespace) -> None:
    text = connect.session(args).get(f"{_path(args)}/config").json()["config"]
    document = json.loads(text)
    if args.json:
        show.as_json(document)
    else:
        show.as_yaml(document)


def kill(args: argparse.Namespace) -> None:
    """Kill a task and its descendants, or say that it had ended."""
    session = connect.session(args)
    task = session.get(_path(args)).json()["task"]
    body = {"taskId": args.task_id, "killFromRoot": args.root}
    session.post(f"{_path(args)}/kill", json=body)
    ended = (task.get("taskState") or "TERMINATED") if task.get("endTime") else ""
    show.print_stop(f"task {args.task_id}", "Killed", "" if args.root else ended)


def pause(args: argparse.Namespace) -> None:
    """Pause a task and its descendants, which frees their slots."""
    connect.session(args).post(f"{_path(args)}/pause")
    print(f"Paused task {args.task_id}")


def unpause(args: argparse.Namespace) -> None:
    """Resume a paused task and its paused descendants."""
    connect.session(args).post(f"{_path(args)}/unpause")
    print(f"Unpaused task {args.task_id}")


def logs(args: argparse.Namespace) -> None:
    log_stream.print_task(connect.session(args), args.task_id, args)


def clean_up_logs(args: argparse.Namespace) -> None:
    """Remove the expired logs of ended tasks; for admins."""
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
