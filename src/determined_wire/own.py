"""Messages of the routes that this API has beyond the public 0.38.1 list."""

from __future__ import annotations

from collections.abc import Sequence

from determined_wire.proto import Double, Int32, JsonObject, Message, Timestamp
from determined_wire.rest.trials import ReportTrialMetricsRequest
from determined_wire.rest.types.agent import Agent
from determined_wire.rest.types.shared import Pagination


class ReportTrialMetricsBatchRequest(Message, frozen=True):
    """Up to 1,000 reports of one trial."""

    trial_id: Int32 = 0
    reports: Sequence[ReportTrialMetricsRequest] = ()


class ReportResult(Message, frozen=True):
    """What became of one report: an empty text, or why it was refused."""

    error: str = ""


class ReportTrialMetricsBatchResponse(Message, frozen=True):
    """One result a report, in their order."""

    results: Sequence[ReportResult] = ()


class GetAgentJoinTokenRequest(Message, frozen=True):
    """Asks what an agent needs to join."""


class GetAgentJoinTokenResponse(Message, frozen=True):
    """What an agent needs to join."""

    token: str = ""


class RestingAgent(Agent, frozen=True):
    """An agent as lists show it; while it gets nothing new since its last starts failed, until
    when that is so and how many they were."""

    __absent__ = frozenset(("resting_until", "failed_starts"))
    resting_until: Timestamp | None = None
    failed_starts: Int32 | None = None


class GetLoopStallRequest(Message, frozen=True):
    """Asks how long the master's event loop was held."""


class GetLoopStallResponse(Message, frozen=True):
    """The longest stall since the last question, of how long a time."""

    longest_ms: Double = 0
    watched_s: Double = 0


class GetStoryRequest(Message, frozen=True):
    """Asks what happened to a trial, an experiment or an allocation."""

    id: str = ""
    offset: Int32 = 0
    limit: Int32 = 0


class StoryLine(Message, frozen=True):
    """One event: when, to what, by what cause, and what was ordered because of it."""

    at: Timestamp | None = None
    aggregate: str = ""
    version: Int32 = 0
    cause: str = ""
    event: str = ""
    detail: JsonObject | None = None
    effects: Sequence[str] = ()


class GetStoryResponse(Message, frozen=True):
    """Lines in the order of time."""

    lines: Sequence[StoryLine] = ()
    pagination: Pagination | None = None


class GetJobWhyRequest(Message, frozen=True):
    """Asks what holds a job; `id` is of a job, an experiment or an allocation."""

    id: str = ""


class WhyFree(Message, frozen=True):
    """Free slots of one agent that takes the request."""

    agent_id: str = ""
    free: Int32 = 0
    slots: Int32 = 0


class WhyAhead(Message, frozen=True):
    """A request that comes first."""

    allocation_id: str = ""
    job_id: str = ""
    slots: Int32 = 0
    priority: Int32 = 0


class WhyNext(Message, frozen=True):
    """A task whose slots come back; `about_at` is absent when nothing tells when."""

    __absent__ = frozenset(("about_at",))
    allocation_id: str = ""
    job_id: str = ""
    slots: Int32 = 0
    agents: Sequence[str] = ()
    is_leaving: bool = False
    about_at: Timestamp | None = None


class WhyWaits(Message, frozen=True):
    """What holds one request, from the decision that left it waiting."""

    __absent__ = frozenset(("smaller",))
    allocation_id: str = ""
    decided_at: Timestamp | None = None
    waits_since: Timestamp | None = None
    code: str = ""
    reason: str = ""
    needs_slots: Int32 = 0
    is_single_node: bool = False
    free_slots: Int32 = 0
    largest_hole: Int32 = 0
    free: Sequence[WhyFree] = ()
    ahead_count: Int32 = 0
    ahead: Sequence[WhyAhead] = ()
    next: Sequence[WhyNext] = ()
    smaller: Int32 | None = None


class GetJobWhyResponse(Message, frozen=True):
    """What holds a job: its first request that waits, and how many more there are."""

    job_id: str = ""
    resource_pool: str = ""
    state: str = ""
    text: str = ""
    waiting: Int32 = 0
    running: Int32 = 0
    waits: WhyWaits | None = None
