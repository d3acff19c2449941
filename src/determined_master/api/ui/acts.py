"""Route of acts of users on the cluster itself."""

from __future__ import annotations

from determined_master.api.http.access import IN_SERVICE
from determined_master.api.http.routes import Call, route
from determined_master.services.history.acts import DEFAULT_ACTS, Acts
from determined_wire.ui import acts as wire


@route("GET", "/api/ui/v1/acts", access=IN_SERVICE)
async def get_acts(call: Call, request: wire.GetActsRequest, acts: Acts) -> wire.GetActsResponse:
    """What users changed in the cluster itself, the newest first; for admins."""
    found = await acts.list_acts(
        call.caller,
        before=request.before,
        user_id=request.user_id,
        since=request.since,
        limit=request.limit,
    )
    shown = [
        wire.Act(
            id=one.id,
            at=one.at,
            user_id=one.user_id,
            username=one.username,
            operation=one.operation,
            method=one.method,
            path=one.path,
        )
        for one in found
    ]
    is_full = len(found) == (request.limit or DEFAULT_ACTS)
    return wire.GetActsResponse(acts=shown, next=found[-1].id if is_full else 0)
