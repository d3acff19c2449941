"""Routes about the columns of a project's tables."""

from __future__ import annotations

import asyncio

from determined_master.api.http.access import on
from determined_master.api.http.endpoint_routes import pass_through
from determined_master.api.http.routes import Call, route
from determined_master.api.http.task_use import READS
from determined_master.services.workspaces.project_columns import (
    AT_ONCE,
    ListedColumn,
    ProjectColumns,
)
from determined_wire.rest import projects as wire
from determined_wire.rest.types.project import (
    ColumnType,
    LocationType,
    MetricsRange,
    ProjectColumn,
)


@route(
    "GET",
    "/api/v1/projects/{id}/columns",
    access=on("project", "id", "read", "experiment"),
    in_task=READS,
)
async def get_project_columns(
    call: Call, request: wire.GetProjectColumnsRequest, project_columns: ProjectColumns
) -> wire.GetProjectColumnsResponse:
    """Columns of the table of experiments, or with `tableType` of that of runs."""
    is_run = request.table_type is wire.TableType.TABLE_TYPE_RUN
    found = await project_columns.columns(
        call.caller, request.id, "run" if is_run else "experiment"
    )
    columns: list[ProjectColumn] = []
    for start in range(0, len(found), AT_ONCE):
        if start:
            await asyncio.sleep(0)  # others get their turn
        columns += map(_column, found[start : start + AT_ONCE])
    return wire.GetProjectColumnsResponse(columns=columns)


_LOCATIONS = {each.name.removeprefix("LOCATION_TYPE_"): each for each in LocationType}
_TYPES = {each.name.removeprefix("COLUMN_TYPE_"): each for each in ColumnType}


def _column(column: ListedColumn) -> ProjectColumn:
    return ProjectColumn(
        column=column.name,
        location=_LOCATIONS[column.place],
        type=_TYPES[column.type],
        display_name=column.title,
    )


@route(
    "GET",
    "/api/v1/projects/{id}/experiments/metric-ranges",
    access=on("project", "id", "read", "experiment"),
    in_task=READS,
)
async def get_metric_ranges(
    call: Call, request: wire.GetProjectNumericMetricsRangeRequest, project_columns: ProjectColumns
) -> wire.GetProjectNumericMetricsRangeResponse:
    """The lowest and highest value of each metric, for heat maps."""
    ranges = await project_columns.metric_ranges(call.caller, request.id)
    return wire.GetProjectNumericMetricsRangeResponse(
        ranges=[MetricsRange(metrics_name=n, min=low, max=high) for n, low, high in ranges]
    )


get_metadata_values = pass_through(
    "GET /api/v1/projects/{project_id}/metadata/{key}",
    "The values that a key of metadata has.",
    ProjectColumns.metadata_values,
    answer="values",
    access=on("project", "project_id", "read", "experiment"),
    in_task=READS,
)
