"""What the store asks of the database: experiments, trials, allocations, logs, switches."""

from __future__ import annotations

from typing import Any

import msgspec
from tests.chaos.server import Statement, statement
from tests.chaos.tables import Row

from determined_master.records.experiments import ExperimentRow
from determined_master.store.experiments.experiments import NewExperiment
from determined_master.store.experiments.trials import TrialRow

_INSERTED = (
    *("id", "job_id", "user_id", "workspace_id", "project_id", "name", "description", "labels"),
    *("config", "original_config", "seed", "searcher_type", "searcher_metric"),
    *("smaller_is_better", "resource_pool", "model_digest", "model_definition_size"),
    *("started_at", "forked_from", "unmanaged", "external_id", "config_changes"),
)
assert len(_INSERTED) == len(NewExperiment.__struct_fields__)
_ALWAYS = {
    "username": "user",
    "display_name": "",
    "workspace_name": "w",
    "project_name": "p",
    "project_owner_id": 1,
    "parent_archived": False,
    "state": "PAUSED",
    "reason": "",
    "notes": "",
    "archived": False,
    "progress": 0.0,
    "num_trials": 0,
    "best_trial_id": None,
    "best_metric": None,
    "checkpoint_count": 0,
    "checkpoint_size": 0,
    "ended_at": None,
    "queue_position": None,
}
_NEW_TRIAL = {
    "state": "PAUSED",
    "reason": "",
    "restarts": 0,
    "run_id": 0,
    "progress": 0.0,
    "runner_state": "",
    "total_batches": 0,
    "searcher_metric": None,
    "best_metric": None,
    "best_validation": None,
    "latest_validation": None,
    "summary_metrics": "{}",
    "metadata": None,
    "checkpoint_count": 0,
    "checkpoint_size": 0,
    "latest_checkpoint": None,
    "log_policy_matched": None,
    "ended_at": None,
}


@statement("store.workspaces.projects.find_place")
async def find_place(s: Statement) -> list[Row]:
    """There is one project."""
    return [
        {
            "project_id": 1,
            "project_name": "p",
            "workspace_id": 1,
            "is_archived": False,
            "is_leaving": False,
            "checkpoint_storage": None,
            "default_compute_pool": "",
            "default_aux_pool": "",
        }
    ]


@statement("store.cluster.pool_bindings.list_closed_pools", "store.configs.policies.list_policies")
async def list_restrictions(s: Statement) -> list[Row]:
    """Every pool is open to all, and no policy restricts configurations."""
    return []


@statement("store.experiments.experiments.find_answer")
async def find_answer(s: Statement) -> list[Row]:
    """The answer to a request that came before."""
    row = s.tx.get("requests", s.args)
    return [] if row is None else [row]


@statement("store.experiments.experiments.insert_answer")
async def insert_answer(s: Statement) -> None:
    """Remember an answer."""
    await s.tx.insert("requests", s.args[:2], {"answer": s.args[2]})


@statement("store.experiments.experiments.next_experiment_id")
async def next_experiment_id(s: Statement) -> list[Row]:
    """A number."""
    return [{"id": s.server.tables.next_number("experiments")}]


@statement("store.experiments.experiments.insert_experiment")
async def insert_experiment(s: Statement) -> None:
    """A new one."""
    row = {**_ALWAYS, **dict(zip(_INSERTED, s.args, strict=True))}
    await s.tx.insert("experiments", row["id"], row)


@statement("store.experiments.experiments.find_experiment")
async def find_experiment(s: Statement) -> list[Row]:
    """One by its id."""
    row = s.tx.get("experiments", s.args[0])
    return [] if row is None else [{n: row[n] for n in ExperimentRow.__struct_fields__}]


@statement("store.experiments.experiments.lock_experiment")
async def lock_experiment(s: Statement) -> None:
    """Hold one."""
    await s.tx.lock("experiments", s.args[0])


@statement("store.experiments.experiments.update_experiment_states")
async def update_experiment_states(s: Statement) -> None:
    """States of several."""
    for id, state, reason, ended_at, progress in sorted(zip(*s.args, strict=True)):
        await s.tx.lock("experiments", id)
        row = s.tx.get("experiments", id)
        assert row is not None
        await s.tx.update(
            "experiments",
            id,
            state=state,
            reason=reason,
            ended_at=None if ended_at is None else row["ended_at"] or ended_at,
            progress=1.0 if state == "COMPLETED" else max(row["progress"], progress),
        )


@statement("store.webhooks.deliveries.insert_state_events")
async def insert_state_events(s: Statement) -> None:
    """No webhooks."""


@statement("store.queue.job_queue.update_place")
async def update_place(s: Statement) -> None:
    """The place of a job in its queue."""
    id, resources, pool, position = s.args
    row = s.tx.get("experiments", id)
    assert row is not None
    config = {**row["config"], "resources": resources}
    await s.tx.update(
        "experiments", id, config=config, resource_pool=pool, queue_position=position
    )


@statement("store.queue.job_queue.list_jobs")
async def list_jobs(s: Statement) -> list[Row]:
    """Experiments by their jobs; other tasks have no terms."""
    wanted = set(s.args[0])
    return [
        {
            "job_id": row["job_id"],
            **{"experiment_id": id, "task_id": None, "type": "EXPERIMENT"},
            "submitted_at": row["started_at"],
            "resources": row["config"]["resources"],
            **{
                name: row[name]
                for name in (
                    *("state", "name", "user_id", "username", "workspace_id", "progress"),
                    *("resource_pool", "queue_position"),
                )
            },
        }
        for id, row in s.tx.scan("experiments")
        if row["job_id"] in wanted
    ]


@statement("store.experiments.trials.next_trial_ids")
async def next_trial_ids(s: Statement) -> list[Row]:
    """Numbers."""
    return [{"id": s.server.tables.next_number("trials")} for _ in range(s.args[0])]


@statement("store.experiments.trials.insert_trials")
async def insert_trials(s: Statement) -> None:
    """New ones, their tasks, and their count."""
    if "INTO trials" in s.query:
        names = ("id", "experiment_id", "request_id", "task_id", "hparams", "seed", "started_at")
        for values in zip(*s.args, strict=True):
            row = dict(zip(names, values[:7], strict=True))
            row["hparams"] = msgspec.json.decode(row["hparams"])
            row["warm_start_checkpoint"] = values[7]
            twin = [r for _, r in s.tx.scan("trials") if r["request_id"] == row["request_id"]]
            assert not [r for r in twin if r["experiment_id"] == row["experiment_id"]], "twice"
            await s.tx.insert("trials", row["id"], {**_NEW_TRIAL, **row})
    elif "INTO tasks" in s.query:
        for id, job, trial, experiment, user, at in zip(*s.args, strict=True):
            await s.tx.insert("tasks", id, _task("TRIAL", job, trial, experiment, user, at))
    else:
        for id in s.args[0]:
            await s.tx.lock("experiments", id)
            row_of = s.tx.get("experiments", id)
            assert row_of is not None
            await s.tx.update("experiments", id, num_trials=row_of["num_trials"] + 1)


@statement("store.experiments.trials.find_trial", "store.experiments.trials.list_trials")
async def list_trials(s: Statement) -> list[Row]:
    """Trials by id."""
    ids = s.args[0] if isinstance(s.args[0], list) else [s.args[0]]
    rows = [s.tx.get("trials", id) for id in ids]
    return [{n: row[n] for n in TrialRow.__struct_fields__} for row in rows if row is not None]


@statement("store.experiments.trials.find_trial_id", "store.experiments.trials.list_known_ids")
async def find_trial_ids(s: Statement) -> list[Row]:
    """Ids of a search's trials by their names in it."""
    experiment, wanted = s.args
    names = {wanted} if isinstance(wanted, str) else set(wanted)
    found = [
        {"request_id": row["request_id"], "id": id}
        for id, row in s.tx.scan("trials")
        if row["experiment_id"] == experiment and row["request_id"] in names
    ]
    return [{"id": row["id"]} for row in found] if isinstance(wanted, str) else found


@statement("store.experiments.trials.list_open_trial_ids")
async def list_open_trial_ids(s: Statement) -> list[Row]:
    """Those that are not over."""
    return [
        {"id": id}
        for id, row in sorted(s.tx.scan("trials"))
        if row["experiment_id"] == s.args[0] and row["ended_at"] is None
    ]


@statement("store.experiments.trials.update_trial_states")
async def update_trial_states(s: Statement) -> None:
    """States of several, and the ends of their tasks."""
    if "UPDATE tasks" in s.query:
        ended = dict(zip(*s.args, strict=True))
        for id, row in list(s.tx.scan("tasks")):
            if row["trial_id"] in ended and row["ended_at"] is None:
                await s.tx.update("tasks", id, ended_at=ended[row["trial_id"]])
        return
    for id, state, reason, restarts, run, ended_at in sorted(zip(*s.args, strict=True)):
        await s.tx.lock("trials", id)
        row_of = s.tx.get("trials", id)
        assert row_of is not None
        end = None if ended_at is None else row_of["ended_at"] or ended_at
        await s.tx.update(
            "trials", id, state=state, reason=reason, restarts=restarts, run_id=run, ended_at=end
        )


@statement("store.row_locks.lock_rows")
async def lock_rows(s: Statement) -> None:
    """Trials, then experiments."""
    for table, ids in zip(("trials", "experiments"), s.args, strict=False):
        for id in ids:
            await s.tx.lock(table, id)


@statement("store.experiments.searches.insert_rung_entries")
async def insert_rung_entries(s: Statement) -> None:
    """Entries of rungs."""
    for experiment, seq, bracket, rung, request, metric, stopped in zip(*s.args, strict=True):
        row = {"bracket": bracket, "rung": rung, "request_id": request, "metric": metric}
        await s.tx.insert(
            "rung_entries", (experiment, seq), {**row, "seq": seq, "stopped": stopped}
        )


@statement("store.experiments.searches.upsert_bracket_members")
async def upsert_bracket_members(s: Statement) -> None:
    """Members of brackets."""
    for experiment, request, bracket, state in zip(*s.args, strict=True):
        row = {"bracket": bracket, "request_id": request, "state": state}
        at = (experiment, request)
        if await s.tx.update("bracket_members", at, state=state) is None:
            await s.tx.insert("bracket_members", at, row)


@statement(
    "store.experiments.searches.list_bracket_members",
    "store.experiments.searches.list_rung_entries",
)
async def list_of_search(s: Statement) -> list[Row]:
    """Rows of a search, as they are ordered there."""
    table = "bracket_members" if "bracket_members" in s.query else "rung_entries"
    found = [(at[1], row) for at, row in s.tx.scan(table) if at[0] == s.args[0]]
    return [row for _, row in sorted(found, key=lambda item: item[0])]


@statement("store.tasks.allocations.insert_allocations")
async def insert_allocations(s: Statement) -> None:
    """New ones."""
    for id, task, pool, slots, *_, at, _ in zip(*s.args, strict=True):
        row = {"task_id": task, "pool": pool, "slots": slots, "requested_at": at}
        await s.tx.insert("allocations", id, {**row, "state": "PENDING", "ended_at": None})


@statement("store.tasks.allocations.find_owner_id")
async def find_owner_id(s: Statement) -> list[Row]:
    """The owner of all tasks."""
    row = s.tx.get("allocations", s.args[0])
    task = row and s.tx.get("tasks", row["task_id"])
    return [{"user_id": task["user_id"]}] if task else []


@statement("store.tasks.allocations.update_allocations")
async def update_allocations(s: Statement) -> None:
    """States of several."""
    for id, state, is_ready, _, ended_at, *_ in zip(*s.args, strict=True):
        await s.tx.lock("allocations", id)
        row = s.tx.get("allocations", id)
        assert row is not None
        end = row["ended_at"] or ended_at
        await s.tx.update("allocations", id, state=state, is_ready=is_ready, ended_at=end)


@statement("COPY")
async def copy_lines(s: Statement) -> None:
    """Lines of logs: the agents' are counted, by container."""
    table, records, _ = s.args
    assert table == "task_logs"
    for record in records:
        if record[3] is not None:
            number = s.server.tables.next_number("task_logs")
            await s.tx.insert("task_logs", number, {"container": record[3], "log": record[-1]})


@statement("store.logs.task_logs.list_tail")
async def list_tail(s: Statement) -> list[Row]:
    """Nothing that names a cause: no rule depends on one."""
    return []


@statement("store.logs.log_values.insert_values")
async def insert_values(s: Statement) -> None:
    """Values to filter by: nobody reads them here."""


@statement("store.logs.cursors.lock_cursor")
async def lock_cursor(s: Statement) -> list[Row]:
    """How far a container's output is stored."""
    await s.tx.lock("log_cursors", s.args[0])
    if "INSERT" in s.query:
        if s.tx.get("log_cursors", s.args[0]) is None:
            row = {"task_id": s.args[1], "last_seq": 0, "is_complete": False}
            await s.tx.insert("log_cursors", s.args[0], row)
        return []
    return [{"last_seq": s.tx.get("log_cursors", s.args[0])["last_seq"]}]  # type: ignore[index]


@statement("store.logs.cursors.update_cursor")
async def update_cursor(s: Statement) -> None:
    """Move it."""
    id, seq, place = s.args
    row = {"last_seq": seq} if place is None else {"last_seq": seq, "place": place}
    await s.tx.update("log_cursors", id, **row)


@statement("store.logs.cursors.complete_cursors")
async def complete_cursors(s: Statement) -> None:
    """All of it is there."""
    for id in s.args[0]:
        if s.tx.get("log_cursors", id) is not None:
            await s.tx.update("log_cursors", id, is_complete=True)


@statement("store.logs.cursors.have_completed")
async def have_completed(s: Statement) -> list[Row]:
    """Is it, of all of these?"""
    rows = [s.tx.get("log_cursors", id) for id in s.args[0]]
    return [{"count": sum(row is not None and row["is_complete"] for row in rows)}]


@statement("store.logs.policies.find_policies")
async def find_log_policies(s: Statement) -> list[Row]:
    """Of a task."""
    task = s.tx.get("tasks", s.args[0])
    if task is None or task["type"] != "TRIAL":
        return []
    experiment = s.tx.get("experiments", task["experiment_id"])
    assert experiment is not None
    policies = experiment["config"].get("log_policies")
    return [{"trial_id": task["trial_id"], "policies": policies}]


@statement("store.logs.policies.update_matched")
async def note_log_policy(s: Statement) -> None:
    """The name of what has matched."""
    await s.tx.update("trials", s.args[0], log_policy_matched=s.args[1])


@statement("store.cluster.agent_switches.read_switches")
async def read_switches(s: Statement) -> list[Row]:
    """Of all agents."""
    return [row for _, row in s.tx.scan("agent_switches")]


@statement("store.cluster.agent_switches.write_switches")
async def write_switches(s: Statement) -> None:
    """Of one agent."""
    names = ("agent_id", "is_enabled", "is_draining", "disabled_slots", "draining_slots")
    await s.tx.delete("agent_switches", s.args[0])
    if "INSERT" in s.query:
        row = dict(zip(names, s.args[:5], strict=True))
        await s.tx.insert("agent_switches", s.args[0], row)


def _task(type: str, job: Any, trial: Any, experiment: Any, user: Any, at: Any) -> Row:
    return {
        "type": type,
        "job_id": job,
        "trial_id": trial,
        "experiment_id": experiment,
        "user_id": user,
        "started_at": at,
        "ended_at": None,
    }
