"""Routes of the cluster's message."""

from __future__ import annotations

from determined_master.api.http.access import IN_SERVICE
from determined_master.api.http.routes import Call, route
from determined_master.api.http.task_use import READS
from determined_master.records.cluster import MessageRow
from determined_master.services.cluster.messages import ClusterMessages
from determined_wire.rest import master as wire


@route("GET", "/api/v1/master/cluster_message", access=IN_SERVICE, in_task=READS)
async def get_cluster_message(
    call: Call, request: wire.GetClusterMessageRequest, cluster_messages: ClusterMessages
) -> wire.GetClusterMessageResponse:
    """The message, also one that starts later; for admins."""
    row = await cluster_messages.get(call.caller)
    return wire.GetClusterMessageResponse(cluster_message=shown_message(row))


@route("PUT", "/api/v1/master/cluster_message", access=IN_SERVICE)
async def set_cluster_message(
    call: Call, request: wire.SetClusterMessageRequest, cluster_messages: ClusterMessages
) -> wire.SetClusterMessageResponse:
    """Show everybody a message; for admins."""
    await cluster_messages.set(
        call.caller,
        request.message,
        starts_at=request.start_time,
        ends_at=request.end_time,
        duration=request.duration,
    )
    return wire.SetClusterMessageResponse()


@route("DELETE", "/api/v1/master/cluster_message", access=IN_SERVICE)
async def delete_cluster_message(
    call: Call, request: wire.DeleteClusterMessageRequest, cluster_messages: ClusterMessages
) -> wire.DeleteClusterMessageResponse:
    """Show no message any more; for admins."""
    await cluster_messages.clear(call.caller)
    return wire.DeleteClusterMessageResponse()


def shown_message(row: MessageRow | None) -> wire.ClusterMessage | None:
    """The message as clients see it."""
    if row is None:
        return None
    return wire.ClusterMessage(
        message=row.message,
        start_time=row.starts_at,
        end_time=row.ends_at,
        created_time=row.created_at,
    )
