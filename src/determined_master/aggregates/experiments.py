"""The aggregate of an experiment: its kind, search context and rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_never

from determined_master.aggregates.rows import ended_at
from determined_master.domain.config.stored import read_stored
from determined_master.domain.experiment import machine as experiment_machine
from determined_master.domain.experiment import messages as exp
from determined_master.domain.ids import ExperimentId
from determined_master.domain.messages import Record
from determined_master.domain.search.memory import SearchMemory
from determined_master.domain.search.method import SearchContext, build
from determined_master.domain.search.records import BracketMember, RungEntry
from determined_master.domain.webhooks.events import WATCHED_STATES
from determined_master.engine.kind import Change, Kind, tag_of
from determined_master.engine.turns import Owner
from determined_master.store.db import Conn
from determined_master.store.experiments import experiments, removal, searches
from determined_master.store.webhooks import deliveries


class SearchContexts:
    """Loads the data that an experiment's search needs besides its state."""

    async def load(self, conn: Conn, id: str, state: Any | None) -> SearchContext:
        """Build the method from the configuration and the memory from the rows."""
        row = await experiments.find_experiment(conn, int(id))
        if row is None:
            raise RuntimeError(f"experiment {id} has no row")
        config = read_stored(row.config)
        method = build(config.searcher, config.hyperparameters, config.seed)
        memory = SearchMemory.rebuild(
            await searches.list_bracket_members(conn, row.id),
            await searches.list_rung_entries(conn, row.id),
        )
        return SearchContext(method, memory, config.searcher.is_multitrial)

    def advance(self, context: SearchContext, records: Sequence[Record]) -> SearchContext:
        """The context with the records of one step added."""
        for record in records:
            if isinstance(record, RungEntry | BracketMember):
                context.memory.apply(record)
        return context


async def project_experiments(
    conn: Conn, changes: Sequence[Change[exp.Experiment, exp.ExperimentEvent]]
) -> None:
    removed = [c.after.id for c in changes if c.after.state == "DELETED"]
    if removed:
        await removal.delete_experiments(conn, removed)
    rows = [
        (
            c.after.id,
            c.after.state,
            c.after.reason,
            ended_at(c.after.state, c.at),
            c.after.progress,
        )
        for c in changes
        if c.after.state != "DELETED" and not _shows_the_same(c.before, c.after)
    ]
    if rows:
        await experiments.update_experiment_states(conn, rows)
    moved = [
        c.after.id
        for c in changes
        if c.after.state in WATCHED_STATES
        and (c.before is None or c.before.state != c.after.state)
    ]
    if moved:
        await deliveries.insert_state_events(conn, moved, changes[0].at)
    entries = [(c.after.id, r) for c in changes for r in c.records if isinstance(r, RungEntry)]
    members = [(c.after.id, r) for c in changes for r in c.records if isinstance(r, BracketMember)]
    if members:
        await searches.upsert_bracket_members(conn, members)
    if entries:
        await searches.insert_rung_entries(conn, entries)


def _shows_the_same(before: exp.Experiment | None, after: exp.Experiment) -> bool:
    """Whether its row need not be written: most events of a search change only the search.

    Progress is stored in whole percents, so that a search writes its row a hundred times at most.
    """
    return before is not None and _shown(before) == _shown(after)


def _shown(state: exp.Experiment) -> tuple[str, str, int]:
    return state.state, state.reason, int(100 * state.progress)


def _given_up(effect: exp.ExperimentEffect, error: str) -> exp.ExperimentEvent:
    """Reports the trial, or the GC task, that the effect was about."""
    request_id = task_id = ""
    match effect:
        case exp.CreateTrial() | exp.ContinueTrial() | exp.StopTrial():
            request_id = effect.request_id
        case exp.StartGc():
            task_id = effect.task_id
        case (
            exp.GrowSearch()
            | exp.SignalTrials()
            | exp.CloseExperiment()
            | exp.PlanDeletion()
            | exp.RemoveExperiment()
        ):
            pass
        case _:
            assert_never(effect)
    return exp.ExperimentEffectFailed(
        effect=tag_of(effect), error=error, request_id=request_id, task_id=task_id
    )


EXPERIMENT: Kind[ExperimentId, exp.Experiment, exp.ExperimentEvent, exp.ExperimentEffect] = Kind(
    name="experiment",
    state=exp.Experiment,
    event=exp.ExperimentEvent,
    effect=exp.ExperimentEffect,
    step=experiment_machine.step,
    given_up=_given_up,
    project=project_experiments,
    context=SearchContexts(),
    rows="experiments",
    owner=lambda state: Owner.of(state.user_id, f"experiment {state.id}"),
)
