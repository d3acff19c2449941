"""What must be so when all is mended and every experiment has had its time."""

from __future__ import annotations

from typing import Any

from tests.chaos.cluster import Cluster
from tests.chaos.tasks import CALLER

from determined_agent.container.directory import RESERVED_NAMES

_TERMINAL = ("COMPLETED", "CANCELED", "ERROR")
_ENDED_BY = {"kill": ("CANCELED", "ERROR"), "cancel": ("CANCELED", "ERROR", "COMPLETED")}


def is_over(cluster: Cluster) -> bool:
    """Whether every experiment has ended and every user is answered.

    Paused ones are let run; those that no agents of theirs can ever hold are killed.
    """
    rows = cluster.server.tables.table("experiments")
    for machine in cluster.machines:
        if machine.name in cluster.server.tables.table("agent_switches"):
            cluster.use(lambda m, name=machine.name: _enable(m, name))
    for id, row in rows.items():
        if row["state"] == "PAUSED":
            cluster.use(lambda m, id=id: m.experiments.activate(CALLER, id))
    for id in cluster.impossible():
        if rows[id]["state"] not in _TERMINAL:
            cluster.order_end(id, "kill")
    return not cluster.is_waiting and all(row["state"] in _TERMINAL for row in rows.values())


async def _enable(master: Any, name: str) -> None:
    if any(a.id == name for a in master.admission.agents()):
        await master.switches.enable_agent(CALLER, name)


def left_behind(cluster: Cluster) -> list[str]:
    """What is still there and should not be."""
    tables = cluster.server.tables
    left = [f"effect {key}: {row['effect']}" for key, row in tables.table("outbox").items()]
    left += [f"timer {key}" for key in tables.table("timers")]
    left += [f"request {k}" for k, r in tables.table("inbox").items() if r["done_at"] is None]
    for table in ("allocations", "tasks"):
        left += [f"{k} of {table}" for k, r in tables.table(table).items() if not r["ended_at"]]
    left += [f"lease of {slot}: {held}" for slot, held in cluster.commits.leases.items()]
    left += [f"row lock on {at}" for at in tables.holders]
    for machine in cluster.machines:
        left += [f"container {id} on {machine.name}" for id in machine.containers]
        left += [
            f"directory {path.name} on {machine.name}"
            for path in machine.root.iterdir()
            if path.name not in RESERVED_NAMES
        ]
    return left


def check_end(cluster: Cluster) -> None:
    """What was acknowledged is kept, and nothing is there twice."""
    _check_experiments(cluster)
    tables = cluster.server.tables
    reports = tables.table("reports")
    for v in cluster.reported:
        row = reports.get((v.trial_id, v.run_id, v.steps))
        if row is None or row["metric"] != v.metric:
            cluster.violate(f"lost: the report {v} was acknowledged, and {row} is stored")
    for uuid, trial_id, steps in cluster.saved:
        if uuid not in tables.table("checkpoints"):
            cluster.violate(f"lost: checkpoint {uuid} of trial {trial_id} at step {steps}")


def _check_experiments(cluster: Cluster) -> None:
    tables = cluster.server.tables
    rows, trials = tables.table("experiments"), tables.table("trials")
    names = [row["name"] for row in rows.values()]
    for name in {n for n in names if names.count(n) > 1}:
        cluster.violate(f"doubled: {name} was submitted once and made {names.count(name)} times")
    for id in cluster.submitted:
        if id not in rows:
            cluster.violate(f"lost: experiment {id} was accepted and is not there")
    for id, how in cluster.ends:
        if rows[id]["state"] not in (*_ENDED_BY[how], "COMPLETED"):
            cluster.violate(f"experiment {id}: {how} was acknowledged, it is {rows[id]['state']}")
    for id, row in rows.items():
        state = cluster.commits.states["experiment", str(id)]
        mine = [t for t in trials.values() if t["experiment_id"] == id]
        if state.state != row["state"]:
            cluster.violate(f"experiment {id} is {state.state}, its row says {row['state']}")
        if state.trials_closed != state.trials_requested:
            cluster.violate(f"experiment {id} has counted {state.trials_closed} trials")
        for trial in mine:
            if trial["state"] not in _TERMINAL:
                cluster.violate(f"lost: trial {trial['id']} is {trial['state']} in the end")
        if row["state"] == "COMPLETED" and len(mine) != state.trials_requested:
            cluster.violate(f"experiment {id} has {len(mine)} of {state.trials_requested} trials")
        _check_work(cluster, id, mine)


def _check_work(cluster: Cluster, experiment_id: int, trials: list[Any]) -> None:
    """A trial that completed by itself has reported its last step."""
    steps = cluster.work_of(experiment_id).steps
    reports = cluster.server.tables.table("reports")
    for trial in trials:
        state = cluster.commits.states["trial", str(trial["id"])]
        if trial["state"] != "COMPLETED" or state.is_stopped_by_searcher:
            continue
        last = max((s for t, _, s in reports if t == trial["id"]), default=0)
        if last != steps:
            cluster.violate(f"trial {trial['id']} is COMPLETED after {last} of {steps} steps")
