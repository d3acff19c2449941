"""What the store asks of the database about checkpoints and the tasks that delete them."""

from __future__ import annotations

from tests.chaos.server import Statement, statement
from tests.chaos.tables import Row

_COLUMNS = (
    *("uuid", "task_id", "allocation_id", "trial_id", "experiment_id", "state", "reported_at"),
    *("steps", "resources", "metadata", "size", "storage_id"),
)


@statement("store.tasks.tasks.find_owner")
async def find_owner(s: Statement) -> list[Row]:
    """Whose task it is."""
    row = s.tx.get("tasks", s.args[0])
    return [] if row is None else [{n: row[n] for n in ("trial_id", "experiment_id")}]


@statement("store.checkpoints.checkpoints.insert_checkpoint")
async def insert_checkpoint(s: Statement) -> str:
    """A new one; nothing when it is known."""
    await s.tx.lock("checkpoints", s.args[0])
    if s.tx.get("checkpoints", s.args[0]) is not None:
        return "INSERT 0 0"
    await s.tx.insert("checkpoints", s.args[0], dict(zip(_COLUMNS, s.args, strict=True)))
    return "INSERT 0 1"


@statement("store.checkpoints.checkpoints._count")
async def count_checkpoint(s: Statement) -> None:
    """Count it in its trial and its experiment."""
    table = "trials" if "UPDATE trials" in s.query else "experiments"
    await s.tx.lock(table, s.args[0])
    row = s.tx.get(table, s.args[0])
    assert row is not None
    more = {"checkpoint_count": row["checkpoint_count"] + 1}
    if table == "trials":
        more["latest_checkpoint"] = s.args[2]
    await s.tx.update(table, s.args[0], **more)


@statement("store.checkpoints.gc.list_saved")
async def list_saved(s: Statement) -> list[Row]:
    """Complete checkpoints of an experiment, oldest first."""
    found = [
        row
        for _, row in s.tx.scan("checkpoints")
        if row["experiment_id"] == s.args[0] and row["state"] == "COMPLETED"
    ]
    found.sort(key=lambda row: (row["reported_at"], row["uuid"]))
    return [{**{n: r[n] for n in ("uuid", "trial_id", "steps")}, "metric": None} for r in found]


@statement("store.checkpoints.gc.list_sources", "store.checkpoints.gc.list_kept")
async def list_none(s: Statement) -> list[Row]:
    """Nothing starts from another's checkpoint here, and none is registered."""
    return []


@statement("store.checkpoints.gc.list_stored")
async def list_stored(s: Statement) -> list[Row]:
    """Checkpoints by their ids, or of an experiment."""
    uuids, experiment = set(s.args[0]), s.args[1]
    names = ("uuid", "experiment_id", "storage_id", "state")
    return [
        {**{n: row[n] for n in names}, "user_id": 1}
        for uuid, row in sorted(s.tx.scan("checkpoints"))
        if uuid in uuids or row["experiment_id"] == experiment
    ]


@statement("store.checkpoints.gc.lock_checkpoints")
async def lock_checkpoints(s: Statement) -> None:
    """Hold them, in their order."""
    for uuid in sorted(s.args[0]):
        await s.tx.lock("checkpoints", uuid)


@statement("store.checkpoints.gc.insert_collection")
async def insert_collection(s: Statement) -> None:
    """A task that deletes, and what."""
    if "INTO tasks" in s.query:
        id, job, experiment, user, at = s.args
        row = {"type": "CHECKPOINT_GC", "job_id": job, "trial_id": None, "user_id": user}
        more = {"experiment_id": experiment, "started_at": at, "ended_at": None}
        await s.tx.insert("tasks", id, {**row, **more})
    elif "INTO collections" in s.query:
        row = {"experiment_id": s.args[1], "uuids": s.args[3], "globs": s.args[4]}
        await s.tx.insert("collections", s.args[0], {**row, "removes_tensorboard": s.args[5]})
    else:
        for uuid in sorted(s.args[0]):
            await s.tx.lock("checkpoints", uuid)


@statement("store.checkpoints.gc.find_gc_task")
async def find_gc_task(s: Statement) -> list[Row]:
    """What a task shall delete."""
    row, task = s.tx.get("collections", s.args[0]), s.tx.get("tasks", s.args[0])
    if row is None or task is None:
        return []
    owner = {"task_id": s.args[0], "job_id": task["job_id"], "user_id": task["user_id"]}
    return [{**owner, **row, "storage": {}}]


@statement("store.checkpoints.gc.end_task")
async def end_task(s: Statement) -> None:
    """It is over."""
    row = s.tx.get("tasks", s.args[0])
    if row is not None and row["ended_at"] is None:
        await s.tx.update("tasks", s.args[0], ended_at=s.args[1])
