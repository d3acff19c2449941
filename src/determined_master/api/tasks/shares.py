"""Routes of shares: the users and groups that may enter a notebook or a shell of another user."""

from __future__ import annotations

from collections.abc import Sequence

from determined_master.api.http.access import on
from determined_master.api.http.routes import Call, route
from determined_master.records.tasks import ShareRow
from determined_master.services.tasks.shares import ShareNames, TaskShares
from determined_wire import own


@route("GET", "/api/v1/tasks/{task_id}/shares", access=on("task", "task_id"))
async def get_task_shares(
    call: Call, request: own.GetTaskSharesRequest, shares: TaskShares
) -> own.TaskSharesResponse:
    """Users and groups who may enter a notebook or a shell besides its owner."""
    return _response(await shares.list_of(call.caller, request.task_id))


@route("POST", "/api/v1/tasks/{task_id}/shares", access=on("task", "task_id"), body="*")
async def share_task(
    call: Call, request: own.ShareTaskRequest, shares: TaskShares
) -> own.TaskSharesResponse:
    """Give users and groups access to a notebook or a shell."""
    names = ShareNames(users=request.users, groups=request.groups)
    return _response(await shares.share(call.caller, request.task_id, names))


@route("POST", "/api/v1/tasks/{task_id}/shares/revoke", access=on("task", "task_id"), body="*")
async def revoke_task_shares(
    call: Call, request: own.ShareTaskRequest, shares: TaskShares
) -> own.TaskSharesResponse:
    """End the access of users and groups to a notebook or a shell."""
    names = ShareNames(users=request.users, groups=request.groups)
    return _response(await shares.revoke(call.caller, request.task_id, names))


def _response(rows: Sequence[ShareRow]) -> own.TaskSharesResponse:
    return own.TaskSharesResponse(
        shares=[
            own.TaskShare(
                username=row.username or "",
                group=row.group_name or "",
                shared_by=row.shared_by or "",
                shared_at=row.shared_at,
            )
            for row in rows
        ]
    )
