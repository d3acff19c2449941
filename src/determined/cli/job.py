"""`det job`: the job queues of the resource pools, and the reason why a job waits."""

from __future__ import annotations

import argparse
from typing import Any, Dict, List, Sequence
from urllib.parse import quote

from determined.cli import connect, errors, pagination
from determined.cli.declare import Command, OneOf, arg, flag
from determined.cli.output import full_json, show
from determined.common.api import BaseSession

_HERE = "determined.cli.job"
_PAGE = 100
_FORMS = (
    OneOf(
        (
            flag("--json", help="Output in JSON format"),
            flag("--yaml", help="Output in YAML format"),
            flag("--table", help="Output in table format"),
            flag("--csv", help="Output in CSV format"),
        )
    ),
)
_OPERATIONS = {"priority": "priority", "weight": "weight", "resource-pool": "resourcePool"}

NOUN = Command(
    "job|j",
    "manage job",
    commands=(
        Command(
            "list|ls",
            "list jobs",
            f"{_HERE}:list_jobs",
            (
                arg("-p", "--resource-pool", help="the resource pool whose jobs are listed"),
                *pagination.arguments(_PAGE),
                flag("--reverse", help="list from the end of the queue"),
                *_FORMS,
            ),
            is_default=True,
        ),
        Command(
            "update|u",
            "update job",
            f"{_HERE}:update",
            (
                arg("job_id", help="job ID"),
                OneOf(
                    (
                        arg(
                            "-p",
                            "--priority",
                            type=int,
                            help="the new priority, from 1 (most urgent) to 99",
                        ),
                        arg("-w", "--weight", type=float, help="the new weight"),
                        arg("--resource-pool", help="the resource pool to move the job to"),
                        arg("--ahead-of", help="the job to move it directly ahead of"),
                        arg("--behind-of", help="the job to move it directly behind"),
                    )
                ),
            ),
        ),
        Command(
            "update-batch",
            "update jobs",
            f"{_HERE}:update_batch",
            (
                arg(
                    "operation",
                    nargs="+",
                    help="<job ID>.<operation>=<value>, with the operations priority, weight "
                    "and resource-pool",
                ),
            ),
        ),
        Command(
            "why",
            "explain why a job waits",
            f"{_HERE}:why",
            (
                arg("id", help="job ID, experiment ID, task ID or allocation ID"),
                flag("--json", help="Output in JSON format"),
            ),
        ),
    ),
)


def list_jobs(args: argparse.Namespace) -> None:
    """Print the queue of one pool, or of each."""
    session = connect.session(args)
    pools = session.get("/api/v1/resource-pools").json()["resourcePools"]
    if args.resource_pool:
        pools = [p for p in pools if p["name"] == args.resource_pool]
        if not pools:
            raise errors.CliError(
                f"there is no resource pool {args.resource_pool!r}: see 'det resource-pool list'"
            )
    by_pool = {p["name"]: _fetch(session, p["name"], args) for p in pools}
    every = [job for jobs in by_pool.values() for job in jobs]
    if args.json or args.yaml:
        document = {"jobs": full_json.completed("Job", every)}
        (show.as_json if args.json else show.as_yaml)(document)
        return
    if args.csv:
        _csv(every, pools)
        return
    for pool in pools:
        if len(pools) > 1:
            print(f"Resource pool: {pool['name']}")
        by_priority = _is_by_priority(pool)
        _table(by_pool[pool["name"]], by_priority)


def _table(jobs: List[Dict[str, Any]], by_priority: bool) -> None:
    """Jobs, with the cost of their slots if the pool has machines with a price."""
    headers, rows = list(_headers(by_priority)), [_row(job, by_priority) for job in jobs]
    if any("costPerHour" in job for job in jobs):
        headers.append("USD/Hour")
        for job, row in zip(jobs, rows):
            cost = job.get("costPerHour")
            row.append("" if cost is None else f"{cost:.2f}")
    show.table(headers, rows)


def update(args: argparse.Namespace) -> None:
    changed: Dict[str, Any] = {
        "priority": args.priority,
        "weight": args.weight,
        "resourcePool": args.resource_pool,
        "aheadOf": args.ahead_of,
        "behindOf": args.behind_of,
    }
    changes = {name: value for name, value in changed.items() if value is not None}
    if not changes:
        raise errors.CliError(
            "nothing to change: give one of --priority, --weight, --resource-pool, --ahead-of, "
            "--behind-of"
        )
    _send(connect.session(args), [{"jobId": args.job_id, **changes}])


def update_batch(args: argparse.Namespace) -> None:
    _send(connect.session(args), [_parse(text) for text in args.operation])


def why(args: argparse.Namespace) -> None:
    """Print why a job waits: its request, the free slots, the jobs ahead, the next ends."""
    path = f"/api/v1/job-queues/{quote(args.id, safe='')}/why"
    answer = connect.session(args).get(path).json()
    if args.json:
        show.as_json(answer)
        return
    print(f"Job {args.id} in resource pool {answer['resourcePool']}: ", end="")
    print(f"{answer['running']} with slots, {answer['waiting']} waiting")
    print(answer["text"])
    if answer.get("waits"):
        _explain(answer["waits"])


def _explain(waits: Dict[str, Any]) -> None:
    print(f"Waiting:    since {show.instant(waits['waitsSince'])}")
    on_one = " on one machine" if waits.get("isSingleNode") else ""
    print(f"Needs:      {_slots(waits['needsSlots'])}{on_one}")
    free = ", ".join(f"{f['agentId']} {f['free']}/{f['slots']}" for f in waits["free"][:10])
    print(f"Free:       {_slots(waits['freeSlots'])}" + (f" ({free})" if free else ""))
    print(f"Ahead:      {waits['aheadCount']}")
    for item in waits["ahead"]:
        print(f"            {_who(item)}, {_slots(item['slots'])}, priority {item['priority']}")
    for number, item in enumerate(waits["next"]):
        when = "is leaving" if item.get("isLeaving") else "no estimate"
        if item.get("aboutAt"):
            when = f"about {show.instant(item['aboutAt'])}"
        where = ", ".join(item["agents"])
        head = "Frees next:" if number == 0 else "           "
        print(f"{head} {_who(item)}, {_slots(item['slots'])} on {where}: {when}")
    smaller = waits.get("smaller")
    print(f"Would start now with: {_slots(smaller) if smaller else 'no smaller number of slots'}")
    print(f"Decided at: {show.instant(waits['decidedAt'])}")


def _who(item: Dict[str, Any]) -> str:
    """Name and owner of a task; a master of an earlier release gives its allocation alone."""
    if item.get("name"):
        return f"{item['name']} of {item['username'] or 'a deleted user'}"
    return item["allocationId"] or "another task"


def _slots(number: int) -> str:
    return f"{number} slot{'' if number == 1 else 's'}"


def _fetch(session: BaseSession, pool: str, args: argparse.Namespace) -> List[Dict[str, Any]]:
    params = {
        "resourcePool": pool,
        "limit": args.limit,
        "offset": args.offset or 0,
        "orderBy": "ORDER_BY_DESC" if args.reverse else "ORDER_BY_ASC",
    }
    items = pagination.fetch(session, "/api/v1/job-queues-v2", "jobs", params, args.pages)
    return [item.get("full") or item.get("limited") or {} for item in items]


def _is_by_priority(pool: Dict[str, Any]) -> bool:
    return bool(pool.get("schedulerType") != "SCHEDULER_TYPE_FAIR_SHARE")


def _headers(by_priority: bool) -> Sequence[str]:
    return (
        "#",
        "ID",
        "Type",
        "Job Name",
        "Priority" if by_priority else "Weight",
        "Submitted",
        "Slots (acquired/needed)",
        "State",
        "User",
    )


def _csv(jobs: List[Dict[str, Any]], pools: List[Dict[str, Any]]) -> None:
    """One table for scripts: wire names of types and states, times in ISO 8601."""
    chief = next((p for p in pools if p["defaultComputePool"]), pools[0])
    by_priority = _is_by_priority(chief)
    rows = []
    for job in jobs:
        row = _row(job, by_priority)
        at = job.get("submissionTime")
        row[2], row[5] = job["type"], f"{at[:10]} {at[11:19]}+00:00" if at else ""
        row[7] = (job.get("summary") or {}).get("state") or "N/A"
        rows.append(row)
    show.table(_headers(by_priority), rows, as_csv=True)


def _row(job: Dict[str, Any], by_priority: bool) -> List[Any]:
    summary = job.get("summary") or {}
    number = summary.get("jobsAhead", -1)
    name = job.get("name", "")
    if job.get("type") == "TYPE_EXPERIMENT":
        name = f"{name} ({job.get('entityId', '')})"
    return [
        number if number >= 0 else "N/A",
        job["jobId"],
        job["type"].rsplit("TYPE_", 1)[-1],
        name,
        job["priority"] if by_priority else job["weight"],
        show.instant(job.get("submissionTime")),
        f"{job['allocatedSlots']}/{job['requestedSlots']}",
        show.state(summary.get("state")),
        job.get("username", ""),
    ]


def _parse(text: str) -> Dict[str, Any]:
    """Parse `<job>.<operation>=<value>` into an update."""
    target, equals, value = text.partition("=")
    job_id, dot, operation = target.rpartition(".")
    if not (equals and dot and job_id and value):
        raise errors.CliError(
            f"cannot read {text!r}: the form is <job ID>.<operation>=<value>, as in "
            "5a0b1c2d.priority=10"
        )
    if operation not in _OPERATIONS:
        raise errors.CliError(
            f"unknown operation {operation!r} in {text!r}: choose one of {', '.join(_OPERATIONS)}"
        )
    if operation == "resource-pool":
        return {"jobId": job_id, "resourcePool": value}
    try:
        number: Any = int(value) if operation == "priority" else float(value)
    except ValueError:
        raise errors.CliError(f"{value!r} in {text!r} is not a number") from None
    return {"jobId": job_id, _OPERATIONS[operation]: number}


def _send(session: BaseSession, updates: List[Dict[str, Any]]) -> None:
    session.post("/api/v1/job-queues", json={"updates": updates})
    print(f"Updated {len(updates)} job{'s' if len(updates) != 1 else ''}.")
