"""The kinds of aggregates that this master has, with the rows that follow their states."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from determined_master.domain.allocation import container_rows
from determined_master.domain.allocation import machine as allocation_machine
from determined_master.domain.allocation import messages as alloc
from determined_master.domain.config.stored import read_stored
from determined_master.domain.experiment import machine as experiment_machine
from determined_master.domain.experiment import messages as exp
from determined_master.domain.generic_task import machine as task_machine
from determined_master.domain.generic_task import messages as task
from determined_master.domain.interactive_task import machine as interactive_machine
from determined_master.domain.interactive_task import messages as interactive
from determined_master.domain.log_lines import LEVEL_NUMBERS
from determined_master.domain.messages import Record, WriteTaskLog
from determined_master.domain.search.memory import SearchMemory
from determined_master.domain.search.method import SearchContext, build
from determined_master.domain.search.records import BracketMember, RungEntry
from determined_master.domain.states import LEAVING, TERMINAL
from determined_master.domain.trial import machine as trial_machine
from determined_master.domain.trial import messages as trial
from determined_master.engine.kind import Change, Kind, Parts
from determined_master.store.db import Conn
from determined_master.store.experiments import experiments, removal, searches, trials
from determined_master.store.logs import task_logs
from determined_master.store.tasks import allocations, generic_tasks, interactive_tasks


class SearchContexts:
    """Loads what an experiment's search needs beside its state."""

    async def load(self, conn: Conn, id: str, state: Any | None) -> SearchContext:
        """The method from the configuration, the memory from the rows."""
        row = await experiments.find_experiment(conn, int(id))
        if row is None:
            raise RuntimeError(f"experiment {id} has no row")
        config = read_stored(row.config)
        method = build(config.searcher, config.hyperparameters, config.seed)
        memory = SearchMemory.rebuild(
            await searches.list_bracket_members(conn, row.id),
            await searches.list_rung_entries(conn, row.id),
        )
        return SearchContext(method, memory)

    def advance(self, context: SearchContext, records: Sequence[Record]) -> SearchContext:
        """The context with the records of one step added."""
        for record in records:
            if isinstance(record, RungEntry | BracketMember):
                context.memory.apply(record)
        return context


async def project_experiments(
    conn: Conn, changes: Sequence[Change[exp.Experiment, exp.ExperimentEvent]]
) -> None:
    """Write the states and the rows of searches."""
    removed = [c.after.id for c in changes if c.after.state == "DELETED"]
    if removed:
        await removal.delete_experiments(conn, removed)
    rows = [
        (
            c.after.id,
            c.after.state,
            c.after.reason,
            _ended_at(c.after.state, c.at),
            c.after.progress,
        )
        for c in changes
        if c.after.state != "DELETED" and not _shows_the_same(c.before, c.after)
    ]
    if rows:
        await experiments.update_experiment_states(conn, rows)
    entries = [(c.after.id, r) for c in changes for r in c.records if isinstance(r, RungEntry)]
    members = [(c.after.id, r) for c in changes for r in c.records if isinstance(r, BracketMember)]
    if members:
        await searches.upsert_bracket_members(conn, members)
    if entries:
        await searches.insert_rung_entries(conn, entries)


def _shows_the_same(before: exp.Experiment | None, after: exp.Experiment) -> bool:
    """Whether its row need not be written: most events of a search change only the search.

    Progress is shown in whole percents, so that a search writes its row a hundred times at most.
    """
    return before is not None and _shown(before) == _shown(after)


def _shown(state: exp.Experiment) -> tuple[str, str, int]:
    return state.state, state.reason, int(100 * state.progress)


async def project_trials(
    conn: Conn, changes: Sequence[Change[trial.Trial, trial.TrialEvent]]
) -> None:
    """Write the states of trials and the lines in their logs."""
    rows = [
        (
            c.after.id,
            c.after.state,
            c.after.reason,
            c.after.restarts,
            c.after.run_id,
            _ended_at(c.after.state, c.after.silent_since or c.at),
        )
        for c in changes
    ]
    await trials.update_trial_states(conn, rows)
    await _write_lines(conn, changes)


async def project_allocations(
    conn: Conn, changes: Sequence[Change[alloc.Allocation, alloc.AllocationEvent]]
) -> None:
    """Write the states of allocations and the lines in their tasks' logs."""
    await allocations.update_allocations(conn, [_allocation_change(c) for c in changes])
    await _write_lines(conn, changes)


async def project_generic_tasks(
    conn: Conn, changes: Sequence[Change[task.GenericTask, task.TaskEvent]]
) -> None:
    """Write the states of generic tasks and the lines in their logs."""
    rows = [
        (c.after.id, c.after.state, c.after.reason, _ended_at(c.after.state, c.at))
        for c in changes
    ]
    await generic_tasks.update_generic_tasks(conn, rows)
    await _write_lines(conn, changes)


async def project_interactive_tasks(
    conn: Conn,
    changes: Sequence[Change[interactive.InteractiveTask, interactive.InteractiveEvent]],
) -> None:
    """Write the states of interactive tasks and the lines in their logs."""
    rows = [
        (c.after.id, c.after.state, c.after.exit_status, c.at if c.after.state == "OVER" else None)
        for c in changes
    ]
    await interactive_tasks.update_interactive_tasks(conn, rows)
    await _write_lines(conn, changes)


async def _write_lines(conn: Conn, changes: Iterable[Change[Any, Any]]) -> None:
    lines = [
        (r.task_id, None, None, None, None, c.at, LEVEL_NUMBERS[r.level], "master", "stdout", t)
        for c in changes
        for r in c.records
        if isinstance(r, WriteTaskLog)
        for t in [f"{r.text}\n"]
    ]
    if lines:
        await task_logs.copy_lines(conn, lines)


def _allocation_change(
    change: Change[alloc.Allocation, alloc.AllocationEvent],
) -> allocations.AllocationChange:
    state = change.after
    outcome = state.outcome
    is_failed = outcome is not None and outcome.kind in ("failed", "lost", "refused")
    has_started = any(c.state in ("PULLING", "STARTING", "RUNNING") for c in state.containers)
    is_pulling = any(c.state == "PULLING" for c in state.containers)
    waits_for_images = any(c.state in ("ASSIGNED", "PULLING") for c in state.containers)
    return allocations.AllocationChange(
        id=state.id,
        state=state.state,
        is_ready=state.is_ready,
        started_at=change.at if has_started else None,
        ended_at=change.at if state.state == "TERMINATED" else None,
        exit_reason=outcome.message if outcome is not None else None,
        exit_error=outcome.message if outcome is not None and is_failed else None,
        status_code=outcome.exit_code if outcome is not None else None,
        pulling_at=change.at if is_pulling else None,
        pulled_at=change.at if has_started and not waits_for_images else None,
    )


def _ended_at(state: str, at: datetime) -> datetime | None:
    return at if state in TERMINAL or state in LEAVING else None


EXPERIMENT: Kind[exp.Experiment, exp.ExperimentEvent, Any] = Kind(
    name="experiment",
    state=exp.Experiment,
    event=exp.ExperimentEvent,
    effect=exp.ExperimentEffect,
    step=experiment_machine.step,
    project=project_experiments,
    context=SearchContexts(),
    rows="experiments",
)
TRIAL: Kind[trial.Trial, trial.TrialEvent, Any] = Kind(
    name="trial",
    state=trial.Trial,
    event=trial.TrialEvent,
    effect=trial.TrialOrder,
    step=trial_machine.step,
    project=project_trials,
    rows="trials",
)
ALLOCATION: Kind[alloc.Allocation, alloc.AllocationEvent, Any] = Kind(
    name="allocation",
    state=alloc.Allocation,
    event=alloc.AllocationEvent,
    effect=alloc.AllocationOrder,
    step=allocation_machine.step,
    project=project_allocations,
    parts=Parts(alloc.Container, container_rows.split, container_rows.count, container_rows.join),
)
GENERIC_TASK: Kind[task.GenericTask, task.TaskEvent, Any] = Kind(
    name="task",
    state=task.GenericTask,
    event=task.TaskEvent,
    effect=task.TaskOrder,
    step=task_machine.step,
    project=project_generic_tasks,
)
INTERACTIVE_TASK: Kind[interactive.InteractiveTask, interactive.InteractiveEvent, Any] = Kind(
    name="interactive",
    state=interactive.InteractiveTask,
    event=interactive.InteractiveEvent,
    effect=interactive.InteractiveOrder,
    step=interactive_machine.step,
    project=project_interactive_tasks,
)
KINDS: tuple[Kind[Any, Any, Any], ...] = (
    EXPERIMENT,
    TRIAL,
    ALLOCATION,
    GENERIC_TASK,
    INTERACTIVE_TASK,
)
