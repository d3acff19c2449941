"""`det resources`: reports of past resource usage."""

from __future__ import annotations

import argparse
from typing import Any, Dict, List

from determined.cli import arguments, connect
from determined.cli.declare import Command, OneOf, arg, flag
from determined.cli.output import show

_HERE = "determined.cli.agent.resources"
_JSON = flag("--json", help="Output in JSON format")
_INSTANTS = (
    arg(
        "timestamp_after",
        type=arguments.instant,
        help="start of the period, in UTC: 2026-01-31T00:00:00Z, or 2026-01-31",
    ),
    arg(
        "timestamp_before",
        type=arguments.instant,
        help="end of the period, in UTC: 2026-02-01T00:00:00Z, or 2026-02-01",
    ),
)
_KEYS = ("user", "workspace", "job", "pool")
_PERIODS = "RESOURCE_ALLOCATION_AGGREGATION_PERIOD_"

NOUN = Command(
    "resources|res",
    "query historical resource allocation",
    commands=(
        Command(
            "aggregated|agg",
            "get the slot-seconds of days or months by user, label and resource pool",
            f"{_HERE}:aggregated",
            (
                arg("start_date", help="the first day, YYYY-MM-DD; YYYY-MM with --monthly"),
                arg("end_date", help="the last day or month, inclusive"),
                _JSON,
                flag("--monthly", help="sum up by month instead of by day"),
            ),
        ),
        Command(
            "allocations|alloc",
            "get the allocations between two instants as CSV",
            f"{_HERE}:allocations",
            _INSTANTS,
        ),
        Command(
            "costs",
            "get what machines on demand have cost between two instants, and whose share that is",
            f"{_HERE}:costs",
            (
                *_INSTANTS,
                arg(
                    "--by",
                    choices=_KEYS,
                    default="user",
                    help="whose shares are listed (default: user)",
                ),
                OneOf((_JSON, flag("--csv", help="Output in CSV format"))),
            ),
        ),
        Command(
            "raw",
            "get the workloads of trials and the agents between two instants",
            f"{_HERE}:raw",
            (*_INSTANTS, _JSON),
        ),
    ),
)


def aggregated(args: argparse.Namespace) -> None:
    """Print slot-seconds by day or month."""
    period = "MONTHLY" if args.monthly else "DAILY"
    dates = {"start_date": args.start_date, "end_date": args.end_date}
    _report(args, "aggregated", {**dates, "period": f"{_PERIODS}{period}"}, args.json)


def allocations(args: argparse.Namespace) -> None:
    _report(args, "allocations-csv", _instants(args))


def raw(args: argparse.Namespace) -> None:
    """Print the workloads of trials and the agents between two instants."""
    _report(args, "raw", _instants(args), args.json)


def costs(args: argparse.Namespace) -> None:
    """Print the costs of machines on demand in US dollars, the largest share first."""
    params = {
        "timestampAfter": args.timestamp_after,
        "timestampBefore": args.timestamp_before,
        "by": args.by,
    }
    answer = connect.session(args).get("/api/v1/resources/costs", params=params).json()
    if args.json:
        show.as_json(answer)
        return
    headers = (args.by.capitalize(), "Slot Hours", "Cost (USD)", "Slot Hours Without Price")
    rows = [_cost_row(entry) for entry in answer["entries"]]
    show.table(headers, rows, args.csv)
    if not args.csv:
        print(f"All machines, also while idle: {answer['machinesCost']:.2f} USD")


def _cost_row(entry: Dict[str, Any]) -> List[Any]:
    cost = entry.get("cost")
    return [
        entry["key"],
        f"{entry['slotHours']:.2f}",
        "" if cost is None else f"{cost:.2f}",
        f"{entry['unpricedSlotHours']:.2f}",
    ]


def _instants(args: argparse.Namespace) -> Dict[str, str]:
    return {
        "timestamp_after": args.timestamp_after,
        "timestamp_before": args.timestamp_before,
    }


def _report(
    args: argparse.Namespace, name: str, params: Dict[str, str], as_json: bool = False
) -> None:
    session, path = connect.session(args), f"/resources/allocation/{name}"
    if as_json:
        show.as_json(session.get(f"/api/v1{path}", params=params).json())
        return
    for line in session.get(path, params=params, stream=True).iter_lines():
        print(line.decode())
