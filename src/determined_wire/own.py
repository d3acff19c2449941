"""Messages of the routes that the public 0.38.1 API does not have."""

from __future__ import annotations

from collections.abc import Sequence

from determined_wire.proto import Double, Int32, JsonObject, Message, Timestamp
from determined_wire.rest.trials import ReportTrialMetricsRequest
from determined_wire.rest.types.agent import Agent
from determined_wire.rest.types.job import Job
from determined_wire.rest.types.resourcepool import ResourcePool
from determined_wire.rest.types.shared import Pagination


class ReportTrialMetricsBatchRequest(Message, frozen=True):
    """Adds up to 1,000 metric reports to one trial."""

    trial_id: Int32 = 0
    reports: Sequence[ReportTrialMetricsRequest] = ()


class ReportResult(Message, frozen=True):
    """The error of one report; empty if it was accepted."""

    error: str = ""


class ReportTrialMetricsBatchResponse(Message, frozen=True):
    """One result per report, in order."""

    results: Sequence[ReportResult] = ()


class CreateAgentJoinTokenRequest(Message, frozen=True):
    """Asks for a token with which one agent joins."""

    agent_id: str = ""
    """An agent that joins again without its key; empty for any new agent."""


class CreateAgentJoinTokenResponse(Message, frozen=True):
    """A token that is spent at the first join."""

    token: str = ""
    expires_at: Timestamp | None = None


class RestingAgent(Agent, frozen=True):
    """An agent in a list.

    After failed starts an agent gets no new containers for a while: `resting_until` is the end of
    that time, `failed_starts` the number of failures.
    """

    __absent__ = frozenset(("resting_until", "failed_starts"))
    resting_until: Timestamp | None = None
    failed_starts: Int32 | None = None


class PricedResourcePool(ResourcePool, frozen=True):
    """A resource pool in a list.

    `price_per_hour` is the usual price of one of its machines in US dollars, `cost_per_hour` that
    of all machines at present, `max_cost_per_hour` the budget. Each is absent if it is unknown or
    not set, and in a pool without machines on demand.
    """

    __absent__ = frozenset(("price_per_hour", "cost_per_hour", "max_cost_per_hour"))
    price_per_hour: Double | None = None
    cost_per_hour: Double | None = None
    max_cost_per_hour: Double | None = None


class TroubledResourcePool(ResourcePool, frozen=True):
    """A resource pool in a list whose Kubernetes cluster starts no pods at present, and why."""

    trouble: str = ""
    trouble_since: Timestamp | None = None


class PricedJob(Job, frozen=True):
    """A job in a pool with machines on demand.

    `cost_per_hour` is the usual price of the slots that it has at present, in US dollars.
    """

    cost_per_hour: Double = 0


class GetPoolOffersRequest(Message, frozen=True):
    """Asks which machines a pool could get for a number of slots."""

    resource_pool_name: str = ""
    slots: Int32 = 0


class PoolOffer(Message, frozen=True):
    """A machine type in a place on a market.

    `price_per_hour` (of one machine) and `total_per_hour` (of all) are usual US dollars, absent if
    unknown. `left_out_until` is absent while only other settings would change anything.
    """

    __absent__ = frozenset(("price_per_hour", "total_per_hour", "left_out_until"))
    machine_type: str = ""
    accelerator: str = ""
    place: str = ""
    market: str = ""
    price_per_hour: Double | None = None
    total_per_hour: Double | None = None
    left_out: str = ""
    """Why it is not tried now; empty for an offer that is."""
    left_out_until: Timestamp | None = None


class GetPoolOffersResponse(Message, frozen=True):
    """The offers in the order of launches, then those that are left out."""

    resource_pool_name: str = ""
    slots: Int32 = 0
    slots_per_machine: Int32 = 0
    machines: Int32 = 0
    """How many machines hold these slots."""
    max_machines: Int32 = 0
    offers: Sequence[PoolOffer] = ()
    problem: str = ""
    """Why the pool would start none for these slots; empty if it would."""


class GetCostsRequest(Message, frozen=True):
    """Asks what machines on demand have cost, by user, workspace, job or pool (`by`)."""

    timestamp_after: Timestamp | None = None
    timestamp_before: Timestamp | None = None
    by: str = ""


class CostEntry(Message, frozen=True):
    """The share of one user, workspace, job or pool, in US dollars.

    `cost` is absent if no price is known; `unpriced_slot_hours` are not in it.
    """

    __absent__ = frozenset(("cost",))
    key: str = ""
    slot_hours: Double = 0
    cost: Double | None = None
    unpriced_slot_hours: Double = 0


class GetCostsResponse(Message, frozen=True):
    """The most expensive first; `machines_cost` is that of all machines, also while idle."""

    entries: Sequence[CostEntry] = ()
    machines_cost: Double = 0


class GetLoopStallRequest(Message, frozen=True):
    """Asks for the longest stall of the master's event loop."""


class GetLoopStallResponse(Message, frozen=True):
    """The longest stall since the previous request, and the time since then."""

    longest_ms: Double = 0
    watched_s: Double = 0


class GetStoryRequest(Message, frozen=True):
    """Asks for the journal of a trial, an experiment or an allocation."""

    id: str = ""
    offset: Int32 = 0
    limit: Int32 = 0
    is_verbose: bool = False
    """Whether texts have ids, causes and effects inside of the master."""


class StoryLine(Message, frozen=True):
    """One event: its time, aggregate, cause and effects."""

    at: Timestamp | None = None
    aggregate: str = ""
    version: Int32 = 0
    cause: str = ""
    event: str = ""
    detail: JsonObject | None = None
    effects: Sequence[str] = ()
    trial_id: Int32 = 0
    """The trial that a line of an experiment is about; 0 for none."""
    text: str = ""
    """The line as people read it, without its time."""


class GetStoryResponse(Message, frozen=True):
    """Lines in chronological order."""

    lines: Sequence[StoryLine] = ()
    pagination: Pagination | None = None
    reason: str = ""
    """Why the thing is in its state, where that needs one: an error, a wait."""
    config_changes: Sequence[str] = ()
    """Keys of the configuration that others have set, each with the policy or template."""


class GetJobWhyRequest(Message, frozen=True):
    """Asks why a job waits; `id` names a job, an experiment or an allocation."""

    id: str = ""


class WhyFree(Message, frozen=True):
    """The free slots of an agent that accepts the request."""

    agent_id: str = ""
    free: Int32 = 0
    slots: Int32 = 0


class WhyAhead(Message, frozen=True):
    """A request that is ahead in the queue; of a hidden task, only its slots and its priority."""

    __absent__ = frozenset(("trial_id", "experiment_id"))
    allocation_id: str = ""
    job_id: str = ""
    slots: Int32 = 0
    priority: Int32 = 0
    name: str = ""
    username: str = ""
    task_id: str = ""
    trial_id: Int32 | None = None
    experiment_id: Int32 | None = None


class WhyNext(Message, frozen=True):
    """A task whose slots become free next; `about_at` is absent if the time is unknown."""

    __absent__ = frozenset(("about_at", "trial_id", "experiment_id"))
    allocation_id: str = ""
    job_id: str = ""
    slots: Int32 = 0
    agents: Sequence[str] = ()
    is_leaving: bool = False
    about_at: Timestamp | None = None
    name: str = ""
    username: str = ""
    task_id: str = ""
    trial_id: Int32 | None = None
    experiment_id: Int32 | None = None


class WhyWaits(Message, frozen=True):
    """Why one request waits, from the decision that left it waiting."""

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
    """Why a job waits: its first waiting request, and the number of all of them."""

    job_id: str = ""
    resource_pool: str = ""
    state: str = ""
    text: str = ""
    waiting: Int32 = 0
    running: Int32 = 0
    waits: WhyWaits | None = None


class GetTaskSharesRequest(Message, frozen=True):
    """Asks who may enter a notebook or a shell."""

    task_id: str = ""


class ShareTaskRequest(Message, frozen=True):
    """Names users and groups who may enter a notebook or a shell, or may no longer."""

    task_id: str = ""
    users: Sequence[str] = ()
    groups: Sequence[str] = ()


class TaskShare(Message, frozen=True):
    """A user or a group who may enter; the other one of the two names is empty."""

    username: str = ""
    group: str = ""
    shared_by: str = ""
    shared_at: Timestamp | None = None


class TaskSharesResponse(Message, frozen=True):
    """All users and groups who may enter besides the owner."""

    shares: Sequence[TaskShare] = ()
