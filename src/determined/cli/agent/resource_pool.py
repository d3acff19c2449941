"""`det resource-pool`: resource pools, and their bindings to workspaces."""

from __future__ import annotations

import argparse
import sys
from typing import Any, Dict, List, Optional
from urllib.parse import quote

from determined.cli import connect, pagination
from determined.cli.declare import Command, OneOf, arg, flag
from determined.cli.output import show

_HERE = "determined.cli.agent.resource_pool"
_POOL = arg("pool_name", help="name of the resource pool")
_WORKSPACES = arg("workspace_names", nargs="+", help="names of workspaces")

NOUN = Command(
    "resource-pool|rp",
    "manage resource pools",
    commands=(
        Command(
            "list|ls",
            "list resource pools",
            f"{_HERE}:list_pools",
            (
                OneOf(
                    (
                        flag("--json", help="Output in JSON format"),
                        flag("--csv", help="Output in CSV format"),
                    )
                ),
            ),
            is_default=True,
        ),
        Command(
            "offers",
            "list the machines that a pool on demand could get, in the order of launches",
            f"{_HERE}:offers",
            (
                _POOL,
                arg("--slots", type=int, default=0, help="slots that are needed (default: 0)"),
                OneOf(
                    (
                        flag("--json", help="Output in JSON format"),
                        flag("--csv", help="Output in CSV format"),
                    )
                ),
            ),
        ),
        Command(
            "bindings",
            "manage resource pool bindings",
            commands=(
                Command(
                    "add",
                    "bind resource pool to workspaces",
                    f"{_HERE}:add",
                    (_POOL, _WORKSPACES),
                ),
                Command(
                    "list-workspaces",
                    "list the workspaces that a resource pool is bound to",
                    f"{_HERE}:list_workspaces",
                    (_POOL, flag("--json", help="print as JSON")),
                ),
                Command(
                    "remove",
                    "unbind resource pool from workspaces",
                    f"{_HERE}:remove",
                    (_POOL, _WORKSPACES),
                ),
                Command(
                    "replace",
                    "bind resource pool to these workspaces and no others",
                    f"{_HERE}:replace",
                    (_POOL, _WORKSPACES),
                ),
            ),
        ),
    ),
)
_HEADERS = (
    "Name",
    "Agents",
    "Slots",
    "Used",
    "Slot Type",
    "Tasks Without Slots",
    "Scheduler",
    "Default For",
    "Queued Jobs",
    "Scheduled Jobs",
    "Machine Type",
    "Min Machines",
    "Max Machines",
    "USD/Hour",
    "Cost/Hour Now",
    "Description",
)


def list_pools(args: argparse.Namespace) -> None:
    session = connect.session(args)
    pools = pagination.fetch(session, "/api/v1/resource-pools", "resourcePools", {})
    if args.json:
        show.as_json(pools)
    else:
        show.table(_HEADERS, [_row(pool) for pool in pools], args.csv)
        for pool in pools:
            if pool.get("trouble"):
                since = show.instant(pool.get("troubleSince"))
                print(f"{pool['name']}: {pool['trouble']} since {since}", file=sys.stderr)


_OFFER_HEADERS = (
    "Machine Type",
    "Place",
    "Market",
    "USD/Hour",
    "Machines",
    "Total USD/Hour",
    "Left Out",
    "Until",
)


def offers(args: argparse.Namespace) -> None:
    """Print the offers of a pool, and those that are left out with the reason."""
    path = f"/api/v1/resource-pools/{quote(args.pool_name, safe='')}/offers"
    answer = connect.session(args).get(path, params={"slots": args.slots}).json()
    if args.json:
        show.as_json(answer)
        return
    rows = [_offer_row(offer, answer["machines"]) for offer in answer["offers"]]
    show.table(_OFFER_HEADERS, rows, args.csv)
    if answer["problem"] and not args.csv:
        print(f"No machine would start: {answer['problem']}")


def _offer_row(offer: Dict[str, Any], machines: int) -> List[Any]:
    gpus = offer["accelerator"]
    until = offer.get("leftOutUntil")
    return [
        offer["machineType"] + (f" with {gpus}" if gpus else ""),
        offer["place"],
        offer["market"],
        _dollars(offer.get("pricePerHour")),
        machines,
        _dollars(offer.get("totalPerHour")),
        offer["leftOut"],
        show.instant(until) if until else "",
    ]


def _dollars(price: Optional[float]) -> str:
    return "" if price is None else f"{price:.2f}"


def list_workspaces(args: argparse.Namespace) -> None:
    """Print the names of the workspaces that a pool is bound to."""
    session = connect.session(args)
    bound = pagination.fetch(session, _path(args), "workspaceIds", {})
    path = "/api/v1/workspaces"
    names = {w["id"]: w["name"] for w in pagination.fetch(session, path, "workspaces", {})}
    if args.json:
        show.as_json([names[number] for number in bound if number in names])
        return
    bound_names = ", ".join(names[number] for number in bound if number in names)
    show.table(("resource pool", "workspaces"), [[args.pool_name, bound_names]])


def add(args: argparse.Namespace) -> None:
    """Bind a pool to more workspaces."""
    connect.session(args).post(_path(args), json=_binding_of(args))
    print(f"Bound resource pool '{args.pool_name}' to {_list(args.workspace_names)}")


def remove(args: argparse.Namespace) -> None:
    connect.session(args).delete(_path(args), json=_binding_of(args))
    print(f"Unbound resource pool '{args.pool_name}' from {_list(args.workspace_names)}")


def replace(args: argparse.Namespace) -> None:
    connect.session(args).put(_path(args), json=_binding_of(args))
    print(f"Resource pool '{args.pool_name}' is now bound to {_list(args.workspace_names)}")


def _path(args: argparse.Namespace) -> str:
    return f"/api/v1/resource-pools/{quote(args.pool_name, safe='')}/workspace-bindings"


def _binding_of(args: argparse.Namespace) -> Dict[str, Any]:
    return {"resourcePoolName": args.pool_name, "workspaceNames": args.workspace_names}


def _list(names: List[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _row(pool: Dict[str, Any]) -> List[Any]:
    uses = (("compute", pool["defaultComputePool"]), ("aux", pool["defaultAuxPool"]))
    kind = pool["slotType"].rsplit("TYPE_", 1)[-1].lower()
    return [
        pool["name"],
        pool["numAgents"],
        pool["slotsAvailable"],
        pool["slotsUsed"],
        "" if kind == "unspecified" else kind,
        f"{pool['auxContainersRunning']}/{pool['auxContainerCapacity']}",
        pool["schedulerType"].rsplit("SCHEDULER_TYPE_", 1)[-1].lower(),
        ", ".join(name for name, is_so in uses if is_so),
        pool["stats"]["queuedCount"],
        pool["stats"]["scheduledCount"],
        *_machines(pool),
        pool["description"],
    ]


def _machines(pool: Dict[str, Any]) -> List[Any]:
    """Type, minimum, maximum, price and cost of machines on demand; empty for other pools."""
    if not pool.get("instanceType"):
        return [""] * 5
    price = pool.get("pricePerHour")
    return [
        pool["instanceType"],
        pool.get("minAgents", 0),
        pool.get("maxAgents", 0),
        _dollars(price),
        _dollars(pool.get("costPerHour")),
    ]
