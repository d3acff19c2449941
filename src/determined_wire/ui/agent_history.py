"""Messages of agents over time."""

from __future__ import annotations

from collections.abc import Sequence

from determined_wire.proto import Int32, Message, Timestamp


class GetAgentHistoryRequest(Message, frozen=True):
    """Asks for an agent over the last hours; 0 for a day."""

    agent_id: str = ""
    hours: Int32 = 0


class AgentStay(Message, frozen=True):
    """The agent was there with `slots` slots; `endedAt` is absent while it is."""

    resource_pool: str = ""
    slots: Int32 = 0
    started_at: Timestamp | None = None
    ended_at: Timestamp | None = None


class AgentMoment(Message, frozen=True):
    """From an instant until the next one; the state is accepting, closed, resting or absent."""

    at: Timestamp | None = None
    state: str = ""
    slots: Int32 = 0
    used: Int32 = 0


class AgentHolding(Message, frozen=True):
    """An allocation that held slots of the agent."""

    allocation_id: str = ""
    task_id: str = ""
    task_type: str = ""
    experiment_id: Int32 = 0
    trial_id: Int32 = 0
    slots: Int32 = 0
    since: Timestamp | None = None
    until: Timestamp | None = None
    exit_reason: str = ""
    exit_error: str = ""


class GetAgentHistoryResponse(Message, frozen=True):
    """The record of the agent; `recordedSince` is absent where it is empty."""

    resource_pool: str = ""
    since: Timestamp | None = None
    until: Timestamp | None = None
    recorded_since: Timestamp | None = None
    stays: Sequence[AgentStay] = ()
    moments: Sequence[AgentMoment] = ()
    allocations: Sequence[AgentHolding] = ()
