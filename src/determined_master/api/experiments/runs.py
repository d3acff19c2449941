"""Routes of runs: a trial seen as a row of its project's table."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from determined_master.api.http.access import FILTERED
from determined_master.api.http.long_lists import written
from determined_master.api.http.protojson import raw_json, ready, to_json
from determined_master.api.http.routes import Call, route
from determined_master.api.http.task_use import READS
from determined_master.api.shapes import pagination, seconds_between, struct_of
from determined_master.domain.config.sections.searcher import searcher_type
from determined_master.records.experiments import RunRow
from determined_master.services.experiments.listing.runs import RenderedRun, Runs, Search
from determined_wire.rest import runs as wire
from determined_wire.rest.types.run import FlatRun, FlatRunExperiment

AT_ONCE = 200
"""With three hyperparameters and metrics each takes 11 µs."""

_WAITING = "STATE_ACTIVE"
"""The word of this list for a run that waits for its slots; elsewhere it is QUEUED."""


@route("POST", "/api/v1/runs", access=FILTERED, in_task=READS)
async def search_runs(
    call: Call, request: wire.SearchRunsRequest, runs: Runs
) -> wire.SearchRunsResponse:
    """Runs that match a filter of the search language, a page of them."""
    search = Search(
        request.project_id, request.filter, request.sort, request.offset, request.limit
    )
    found = await runs.search(call.caller, search, _members)
    if found.runs is not None:
        listed = [_run(run) for run in found.runs]
    else:

        async def messages_of(some: Sequence[int]) -> list[FlatRun]:
            return [_run(run) for run in await runs.list_some(some, _members)]

        listed = await written(FlatRun, found.ids, AT_ONCE, messages_of)
    return wire.SearchRunsResponse(runs=listed, pagination=pagination(found.page))


def _run(run: RenderedRun) -> FlatRun:
    """A run from its cached part and the rest: its state and duration."""
    row = run.listed
    state = _WAITING if run.state == "QUEUED" else f"STATE_{run.state}"
    duration_s = int(seconds_between(row.started_at, row.ended_at))
    text = b'%s,"state":"%s","duration":%d}' % (run.members, state.encode(), duration_s)
    return ready(FlatRun, text)


def _members(row: RunRow) -> bytes:
    """The JSON of a run without its state and duration, which change without its rows."""
    members = to_json(_message(row))
    del members["state"], members["duration"]
    return msgspec.json.encode(members)[:-1]


def _message(row: RunRow) -> FlatRun:
    return FlatRun(
        id=row.id,
        start_time=row.started_at,
        end_time=row.ended_at,
        labels=row.labels,
        checkpoint_size=row.checkpoint_size,
        checkpoint_count=row.checkpoint_count,
        searcher_metric_value=row.searcher_metric,
        hyperparameters=raw_json(row.hparams),
        summary_metrics=raw_json(row.summary_metrics),
        user_id=row.user_id,
        duration=0,
        project_id=row.project_id,
        project_name=row.project_name,
        workspace_id=row.workspace_id,
        workspace_name=row.workspace_name,
        parent_archived=row.parent_archived,
        experiment=_experiment(row),
        external_run_id=row.external_run_id,
        metadata=None if row.metadata is None else raw_json(row.metadata),
        archived=row.archived,
        local_id=f"{row.project_key}-{row.number}",
        log_policy_matched=row.log_policy_matched,
    )


def _experiment(row: RunRow) -> FlatRunExperiment:
    return struct_of(
        FlatRunExperiment,
        row,
        id=row.experiment_id,
        searcher_metric=row.searcher_metric_name,
        is_multitrial=searcher_type(row.searcher_type).is_multitrial,
    )
