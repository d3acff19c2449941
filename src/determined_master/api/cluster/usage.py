"""Routes of reports on usage: CSV for spreadsheets, and the same figures as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl

from determined_master.api.cluster import usage_csv
from determined_master.api.http.access import IN_SERVICE
from determined_master.api.http.routes import Call, Reply, plain_route, route
from determined_master.api.shapes import struct_of
from determined_master.domain.errors import InvalidArgument
from determined_master.domain.usage import (
    Period,
    read_cost_key,
    read_days,
    read_window,
    window_of,
)
from determined_master.records.cluster import Span
from determined_master.services.cluster.usage import Usage
from determined_wire import own
from determined_wire.rest import resources as wire
from determined_wire.rest.types.master import (
    ResourceAllocationAggregatedEntry,
    ResourceAllocationAggregationPeriod,
    ResourceAllocationRawEntry,
)

_Periods = ResourceAllocationAggregationPeriod
PERIODS: Mapping[_Periods, Period] = {
    _Periods.RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY: "daily",
    _Periods.RESOURCE_ALLOCATION_AGGREGATION_PERIOD_MONTHLY: "monthly",
}
NAMES: Mapping[str, Period] = {
    **{str(name): period for name, period in PERIODS.items()},
    "daily": "daily",
    "monthly": "monthly",
}
"""The parameters of the plain route."""


@plain_route("GET", "/resources/allocation/allocations-csv", access=IN_SERVICE)
async def allocations_csv(call: Call, usage: Usage) -> Reply:
    """Every allocation that had slots between two instants."""
    window = read_window(*_parameters(call, "timestamp_after", "timestamp_before"))
    report = usage_csv.Report(usage_csv.ALLOCATIONS)
    await usage.allocations(
        call.caller, window, lambda rows: report.add(map(usage_csv.allocation, rows))
    )
    return report.reply()


@plain_route("GET", "/resources/allocation/raw", access=IN_SERVICE)
async def spans_csv(call: Call, usage: Usage) -> Reply:
    """Work of trials and presence of agents between two instants. Deprecated."""
    window = read_window(*_parameters(call, "timestamp_after", "timestamp_before"))
    report = usage_csv.Report(usage_csv.SPANS)
    await usage.spans(call.caller, window, lambda rows: report.add(map(usage_csv.span, rows)))
    return report.reply()


@plain_route("GET", "/resources/allocation/aggregated", access=IN_SERVICE)
async def sums_csv(call: Call, usage: Usage) -> Reply:
    """Slot-seconds of days or months, by user, label, pool and in total."""
    start, end, name = _parameters(call, "start_date", "end_date", "period")
    period = NAMES.get(name)
    days = read_days(start, end, period)
    assert period is not None  # else the days could not be read
    report = usage_csv.Report(usage_csv.SUMS)
    for entry in await usage.sums(call.caller, days, period):
        report.add(usage_csv.sums(entry, period))
    return report.reply()


@route("GET", "/api/v1/resources/allocation/raw", access=IN_SERVICE)
async def resource_allocation_raw(
    call: Call, request: wire.ResourceAllocationRawRequest, usage: Usage
) -> wire.ResourceAllocationRawResponse:
    """Work of trials and presence of agents between two instants. Deprecated."""
    window = window_of(request.timestamp_after, request.timestamp_before)
    found = await usage.list_spans(call.caller, window)
    return wire.ResourceAllocationRawResponse(resource_entries=[_entry(span) for span in found])


@route("GET", "/api/v1/resources/allocation/aggregated", access=IN_SERVICE)
async def resource_allocation_aggregated(
    call: Call, request: wire.ResourceAllocationAggregatedRequest, usage: Usage
) -> wire.ResourceAllocationAggregatedResponse:
    """Slot-seconds of days or months, by user, label, pool and in total."""
    period = PERIODS.get(request.period)
    days = read_days(request.start_date, request.end_date, period)
    assert period is not None  # else the days could not be read
    found = await usage.sums(call.caller, days, period)
    return wire.ResourceAllocationAggregatedResponse(
        resource_entries=[
            ResourceAllocationAggregatedEntry(
                period_start=usage_csv.period_start(entry, period),
                period=request.period,
                seconds=entry.total,
                by_username=entry.by_username,
                by_experiment_label=entry.by_label,
                by_resource_pool=entry.by_pool,
            )
            for entry in found
        ]
    )


@route("GET", "/api/v1/resources/costs", access=IN_SERVICE)
async def get_costs(
    call: Call, request: own.GetCostsRequest, usage: Usage
) -> own.GetCostsResponse:
    """The costs of machines on demand between two instants, by user, workspace, job or pool."""
    window = window_of(request.timestamp_after, request.timestamp_before)
    found = await usage.costs(call.caller, window, read_cost_key(request.by))
    return own.GetCostsResponse(
        entries=[
            own.CostEntry(
                key=share.key,
                slot_hours=share.slot_hours,
                cost=share.cost,
                unpriced_slot_hours=share.unpriced_slot_hours,
            )
            for share in found.shares
        ],
        machines_cost=found.machines,
    )


def _entry(span: Span) -> ResourceAllocationRawEntry:
    return struct_of(
        ResourceAllocationRawEntry,
        span,
        start_time=span.began_at,
        end_time=span.ended_at,
        experiment_id=span.experiment_id or 0,
        user_id=span.user_id or 0,
    )


def _parameters(call: Call, *names: str) -> list[str]:
    given = dict(parse_qsl(call.http.query, keep_blank_values=True))
    for name in names:
        if name not in given:
            raise InvalidArgument(f"missing parameter: {name}")
    return [given[name] for name in names]
