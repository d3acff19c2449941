"""The route of runs in groups."""

from __future__ import annotations

from determined_master.api.http.access import FILTERED
from determined_master.api.http.routes import Call, route
from determined_master.domain.listing.groups import GroupOfRows
from determined_master.services.experiments.listing.runs import Runs, Search
from determined_wire.ui import run_groups as wire


@route("POST", "/api/ui/v1/runs/groups", access=FILTERED, body="*")
async def get_run_groups(
    call: Call, request: wire.GetRunGroupsRequest, runs: Runs
) -> wire.GetRunGroupsResponse:
    """The runs that match a filter, in groups of equal values of a column, with figures."""
    search = Search(request.project_id, request.filter)
    found = await runs.groups(call.caller, search, request.by, request.columns)
    return wire.GetRunGroupsResponse(
        groups=[_group(group) for group in found.groups], total=found.total, runs=found.rows
    )


def _group(group: GroupOfRows) -> wire.RunGroup:
    return wire.RunGroup(
        text=group.text,
        number=group.number,
        runs=group.count,
        figures=[
            wire.RunGroupFigures(
                column=one.column,
                n=one.count,
                mean=one.mean,
                std=one.deviation,
                min=one.least,
                max=one.most,
            )
            for one in group.figures
        ],
    )
