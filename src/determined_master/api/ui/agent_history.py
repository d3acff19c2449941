"""The route of an agent over time."""

from __future__ import annotations

from determined_master.api.http.access import SIGNED_IN
from determined_master.api.http.routes import Call, route
from determined_master.services.cluster.agent_history import AgentHistories, HeldBy
from determined_wire.ui import agent_history as wire


@route("GET", "/api/ui/v1/agents/{agent_id}/history", access=SIGNED_IN)
async def get_agent_history(
    call: Call, request: wire.GetAgentHistoryRequest, agent_histories: AgentHistories
) -> wire.GetAgentHistoryResponse:
    """When an agent was there, its slots in use, and what held them."""
    found = await agent_histories.find(call.caller, request.agent_id, request.hours)
    return wire.GetAgentHistoryResponse(
        resource_pool=found.pool,
        since=found.since,
        until=found.until,
        recorded_since=found.recorded_since,
        stays=[
            wire.AgentStay(
                resource_pool=stay.pool,
                slots=stay.slots,
                started_at=stay.started_at,
                ended_at=stay.ended_at,
            )
            for stay in found.stays
        ],
        moments=[
            wire.AgentMoment(at=one.at, state=one.state, slots=one.slots, used=one.used)
            for one in found.record.moments
        ],
        allocations=[_holding(one) for one in found.held],
    )


def _holding(one: HeldBy) -> wire.AgentHolding:
    return wire.AgentHolding(
        allocation_id=one.of.allocation_id,
        task_id=one.of.task_id,
        task_type=one.of.task_type,
        experiment_id=one.of.experiment_id or 0,
        trial_id=one.of.trial_id or 0,
        slots=one.slots,
        since=one.since,
        until=one.until,
        exit_reason=one.of.exit_reason,
        exit_error=one.of.exit_error,
    )
