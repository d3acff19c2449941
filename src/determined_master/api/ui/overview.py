"""Routes of the caller's overview."""

from __future__ import annotations

from determined_master.api.http.access import FILTERED, SIGNED_IN
from determined_master.api.http.routes import Call, route
from determined_master.api.shapes import struct_of
from determined_master.services.queue.activity import Activity
from determined_master.services.queue.overview import Overview, OverviewItem
from determined_wire.ui import overview as wire


@route("GET", "/api/ui/v1/overview", access=FILTERED)
async def get_overview(
    call: Call, request: wire.GetOverviewRequest, overview: Overview
) -> wire.GetOverviewResponse:
    """What of the caller's runs, waits, and failed since the last visit."""
    found = await overview.read(call.caller)
    return wire.GetOverviewResponse(
        last_visit_at=found.visited_at,
        running=[_item(one) for one in found.running],
        queued=[_item(one) for one in found.queued],
        failures=[_item(one) for one in found.failures],
        running_count=found.running_count,
        queued_count=found.queued_count,
        failure_count=found.failure_count,
    )


@route("GET", "/api/ui/v1/overview/activity", access=FILTERED)
async def get_activity(
    call: Call, request: wire.GetActivityRequest, activity: Activity
) -> wire.GetActivityResponse:
    """What the caller submitted and used by day, and what ended well since the last visit."""
    found = await activity.read(call.caller, request.days)
    return wire.GetActivityResponse(
        last_visit_at=found.visited_at,
        days=[
            wire.ActivityDay(
                day=day.day.isoformat(),
                submitted=day.submitted,
                completed=day.completed,
                failed=day.failed,
                slot_seconds=day.slot_seconds,
            )
            for day in found.days
        ],
        ended=[_item(one) for one in found.ended],
        ended_count=found.ended_count,
    )


@route("POST", "/api/ui/v1/overview/visit", access=SIGNED_IN)
async def post_visit(
    call: Call, request: wire.PostVisitRequest, overview: Overview
) -> wire.PostVisitResponse:
    """Note that the caller has seen what failed."""
    await overview.visit(call.caller)
    return wire.PostVisitResponse()


def _item(one: OverviewItem) -> wire.OverviewItem:
    return struct_of(wire.OverviewItem, one, resource_pool=one.pool)
