"""Rows of experiments and trials, written as plainly as the tables allow."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from determined_master import entropy
from determined_master.store.db import Database

STARTED = datetime(2026, 1, 1, tzinfo=UTC)


async def add_project(pool: Database, key: str = "PROJ") -> int:
    """A project in a workspace of its own; its id."""
    name = f"{key} {entropy.new_uuid()}"
    user = await pool.fetchval(
        "INSERT INTO users (username, modified_at) VALUES ($1, now()) RETURNING id", name
    )
    workspace = await pool.fetchval(
        "INSERT INTO workspaces (name, user_id) VALUES ($1, $2) RETURNING id", name, user
    )
    query = """
        INSERT INTO projects (workspace_id, name, key, user_id)
        VALUES ($1, 'p', $2, $3) RETURNING id
    """
    return int(await pool.fetchval(query, workspace, key, user))


async def add_experiment(pool: Database, project_id: int, **columns: Any) -> int:
    """An experiment; its id."""
    project = await pool.fetchrow("SELECT * FROM projects WHERE id = $1", project_id)
    values = {
        "job_id": entropy.new_uuid(),
        "user_id": project["user_id"],
        "workspace_id": project["workspace_id"],
        "project_id": project_id,
        "state": "ACTIVE",
        "name": "e",
        "config": {"hyperparameters": {}},
        "original_config": "",
        "seed": 1,
        "searcher_type": "random",
        "searcher_metric": "loss",
        "smaller_is_better": True,
        "resource_pool": "default",
        "started_at": STARTED,
        **columns,
    }
    return await _insert(pool, "experiments", values)


async def add_trial(pool: Database, experiment_id: int, **columns: Any) -> int:
    """A trial; its id."""
    values = {
        "experiment_id": experiment_id,
        "request_id": entropy.new_uuid(),
        "task_id": str(entropy.new_uuid()),
        "state": "ACTIVE",
        "hparams": {},
        "seed": 1,
        "started_at": STARTED,
        **columns,
    }
    return await _insert(pool, "trials", values)


async def end_trial(pool: Database, trial_id: int, after_s: int = 60) -> None:
    """End a trial, completed."""
    await pool.execute(
        "UPDATE trials SET state = 'COMPLETED', ended_at = $2 WHERE id = $1",
        trial_id,
        STARTED + timedelta(seconds=after_s),
    )


async def _insert(pool: Database, table: str, values: dict[str, Any]) -> int:
    names = ", ".join(values)
    places = ", ".join(f"${i}" for i in range(1, len(values) + 1))
    query = f"INSERT INTO {table} ({names}) VALUES ({places}) RETURNING id"
    return int(await pool.fetchval(query, *values.values()))


async def add_allocation(
    pool: Database, experiment_id: int | None = None, /, **columns: Any
) -> str:
    """An allocation of a task of its own; its id.

    Args:
        pool: of connections.
        experiment_id: whose trial's it is; None for one of a command.
        columns: of the allocation, and `user_id`, `trial_id` and `type` of the task.
    """
    task = {
        "type": "COMMAND" if experiment_id is None else "TRIAL",
        "user_id": columns.pop("user_id", None),
        "trial_id": columns.pop("trial_id", None),
    }
    if task["user_id"] is None:
        query = "SELECT user_id FROM experiments WHERE id = $1"
        task["user_id"] = await pool.fetchval(query, experiment_id)
    task_id = str(entropy.new_uuid())
    query = """
        INSERT INTO tasks (id, type, job_id, user_id, trial_id, experiment_id, started_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
    """
    job_id = entropy.new_uuid()
    await pool.execute(query, task_id, task["type"], job_id, task["user_id"], task["trial_id"],
                       experiment_id, STARTED)  # fmt: skip
    values = {
        "id": f"{task_id}.1",
        "task_id": task_id,
        "state": "TERMINATED",
        "pool": "default",
        "slots": 1,
        "requested_at": columns.get("started_at", STARTED),
        **columns,
    }
    names = ", ".join(values)
    places = ", ".join(f"${i}" for i in range(1, len(values) + 1))
    query = f"INSERT INTO allocations ({names}) VALUES ({places})"
    await pool.execute(query, *values.values())
    return str(values["id"])
