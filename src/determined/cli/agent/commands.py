"""`det agent`: list, enable and disable agents."""

from __future__ import annotations

import argparse
from typing import Any, Dict, List

from determined.cli import connect, errors
from determined.cli.declare import Command, OneOf, arg, flag
from determined.cli.output import show
from determined.common.api import errors as api_errors

_HERE = "determined.cli.agent.commands"
_FORMAT = OneOf((flag("--csv", help="print as CSV"), flag("--json", help="print as JSON")))
_NO_ROUTE = (404, 405)
_AGENT = arg("agent_id", nargs="?", help="agent ID")

NOUN = Command(
    "agent|a",
    "manage agents",
    commands=(
        Command(
            "disable",
            "disable agent",
            f"{_HERE}:disable",
            (
                _AGENT,
                flag("--all", help="disable all agents"),
                flag("--drain", help="let running tasks finish, and start no new ones"),
                _FORMAT,
            ),
        ),
        Command(
            "enable",
            "enable agent",
            f"{_HERE}:enable",
            (_AGENT, flag("--all", help="enable all agents")),
        ),
        Command("list|ls", "list agents", f"{_HERE}:list_agents", (_FORMAT,), is_default=True),
        Command(
            "token",
            "print a token with which one agent joins",
            f"{_HERE}:token",
            (arg("agent_id", nargs="?", help="an agent that has lost its key"),),
        ),
    ),
)

_HEADERS = {
    "id": "Agent ID",
    "version": "Version",
    "registered_time": "Registered Time",
    "num_slots": "Slots",
    "num_containers": "Containers",
    "resource_pools": "Resource Pool",
    "enabled": "Enabled",
    "draining": "Draining",
    "addresses": "Addresses",
    "resting_until": "Resting Until",
}


def list_agents(args: argparse.Namespace) -> None:
    """Print the connected agents."""
    agents = connect.session(args).get("/api/v1/agents").json()["agents"]
    rows = [_row(agent) for agent in agents]
    if args.json:
        show.as_json(rows)
    else:
        cells = [[row[key] for key in _HEADERS] for row in rows]
        show.table(list(_HEADERS.values()), cells, as_csv=args.csv)


def enable(args: argparse.Namespace) -> None:
    """Let an agent, or all agents, take tasks again."""
    _change(args, "enable", None)


def disable(args: argparse.Namespace) -> None:
    """Start no more tasks on an agent, or on all. Without `--drain`, stop their tasks."""
    names = _change(args, "disable", {"drain": args.drain})
    if args.drain:
        _print_tasks_of(args, names)


def token(args: argparse.Namespace) -> None:
    """Print a token with which one agent joins; for admins. It is spent at the first join.

    Raises:
        CliError: the master is of an earlier release.
    """
    body = {"agentId": args.agent_id or ""}
    try:
        answer = connect.session(args).post("/api/v1/agents/join-tokens", json=body).json()
    except api_errors.APIException as error:
        if error.status_code not in _NO_ROUTE:
            raise
        raise errors.CliError(
            "this master is of an earlier release, which has one join token for all agents: "
            "install the same version on both"
        ) from None
    print(answer["token"])


def _print_tasks_of(args: argparse.Namespace, agents: List[str]) -> None:
    """Print the tasks that still run on draining agents."""
    tasks = connect.session(args).get("/api/v1/tasks").json()["allocationIdToSummary"]
    rows = [
        {
            "agent_id": agent,
            "task_id": task["taskId"],
            "allocation_id": task["allocationId"],
            "name": task["name"],
        }
        for task in tasks.values()
        for resources in task.get("resources", ())
        for agent in resources.get("agentDevices", {})
        if agent in agents
    ]
    if args.json:
        show.as_json(rows)
        return
    if not (rows or args.csv):
        print("No tasks are running on them.")
        return
    if not args.csv:
        print("These tasks keep running until they end:")
    headers = ["Agent ID", "Task ID", "Allocation ID", "Task Name"]
    show.table(headers, [list(row.values()) for row in rows], as_csv=args.csv)


def _change(args: argparse.Namespace, action: str, body: Any) -> List[str]:
    if bool(args.agent_id) == bool(args.all):
        raise errors.CliError(f"name one agent, or give --all: det agent {action} <agent_id>")
    session = connect.session(args)
    names: List[str] = [args.agent_id]
    if args.all:
        names = [agent["id"] for agent in session.get("/api/v1/agents").json()["agents"]]
    for name in names:
        session.post(f"/api/v1/agents/{name}/{action}", json=body)
        if not (getattr(args, "json", False) or getattr(args, "csv", False)):
            print(f"{action.capitalize()}d agent {name}")
    return names


def _row(agent: Dict[str, Any]) -> Dict[str, Any]:
    return {
        "id": agent["id"],
        "version": agent["version"],
        "registered_time": show.instant(agent["registeredTime"]),
        "num_slots": len(agent["slots"]),
        "num_containers": len(agent["containers"]),
        "resource_pools": ", ".join(agent["resourcePools"]),
        "enabled": agent["enabled"],
        "draining": agent["draining"],
        "addresses": ", ".join(agent["addresses"]),
        "resting_until": show.instant(agent.get("restingUntil")),
    }
