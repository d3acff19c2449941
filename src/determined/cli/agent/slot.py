"""`det slot`: the slots of the agents, and the allocations on them."""

from __future__ import annotations

import argparse
from typing import Any, Dict, Iterator

from determined.cli import connect
from determined.cli.declare import Command, OneOf, arg, flag
from determined.cli.output import show

_HERE = "determined.cli.agent.slot"
_WHICH = (arg("agent_id", help="agent ID"), arg("slot_id", type=int, help="slot ID"))

NOUN = Command(
    "slot|s",
    "manage slots",
    commands=(
        Command(
            "disable",
            "disable slot on agent",
            f"{_HERE}:disable",
            (*_WHICH, flag("--drain", help="let a running task finish, and start no new one")),
        ),
        Command("enable", "enable slot on agent", f"{_HERE}:enable", _WHICH),
        Command(
            "list|ls",
            "list slots in cluster",
            f"{_HERE}:list_slots",
            (OneOf((flag("--csv", help="print as CSV"), flag("--json", help="print as JSON"))),),
            is_default=True,
        ),
    ),
)

_HEADERS = {
    "agent_id": "Agent ID",
    "resource_pools": "Resource Pool",
    "slot_id": "Slot ID",
    "enabled": "Enabled",
    "draining": "Draining",
    "allocation_id": "Allocation ID",
    "task_name": "Task Name",
    "type": "Type",
    "device": "Device",
}


def list_slots(args: argparse.Namespace) -> None:
    """Print every slot with its allocation, or FREE."""
    session = connect.session(args)
    tasks = session.get("/api/v1/tasks").json()["allocationIdToSummary"]
    agents = session.get("/api/v1/agents").json()["agents"]
    by_container = dict(_containers(tasks))
    rows = [
        _row(agent, slot, by_container)
        for agent in sorted(agents, key=lambda a: a["id"])
        for slot in sorted(agent["slots"].values(), key=lambda s: int(s["id"]))
    ]
    if args.json:
        show.as_json(rows)
    else:
        cells = [[row[key] for key in _HEADERS] for row in rows]
        show.table(list(_HEADERS.values()), cells, as_csv=args.csv)


def enable(args: argparse.Namespace) -> None:
    """Let a slot take tasks again."""
    _change(args, "enable")


def disable(args: argparse.Namespace) -> None:
    """Start no more tasks on a slot. Without `--drain`, stop its task."""
    _change(args, "disable", {"drain": args.drain})


def _change(args: argparse.Namespace, action: str, body: Any = None) -> None:
    path = f"/api/v1/agents/{args.agent_id}/slots/{args.slot_id}/{action}"
    connect.session(args).post(path, json=body)
    print(f"{action.capitalize()}d slot {args.slot_id} of agent {args.agent_id}")


def _containers(tasks: Dict[str, Any]) -> Iterator[Any]:
    """Pairs of a container ID and its allocation."""
    for allocation in tasks.values():
        for resources in allocation.get("resources", ()):
            for key in ("containerId", "resourcesId"):
                if resources.get(key):
                    yield resources[key], allocation


def _row(agent: Dict[str, Any], slot: Dict[str, Any], tasks: Dict[str, Any]) -> Dict[str, Any]:
    container = slot["container"]
    allocation = tasks.get(container["id"], {}) if container else {}
    fallback = "FREE" if not container else "OCCUPIED"
    return {
        "agent_id": agent["id"],
        "resource_pools": ", ".join(agent["resourcePools"]),
        "slot_id": slot["id"],
        "enabled": slot["enabled"],
        "draining": slot["draining"],
        "allocation_id": allocation.get("allocationId", fallback),
        "task_name": allocation.get("name", fallback),
        "type": slot["device"]["type"].replace("TYPE_", "").lower(),
        "device": slot["device"]["brand"],
    }
