"""Messages of users' overviews, and of simulated queues."""

from __future__ import annotations

from collections.abc import Sequence

from determined_wire.proto import Double, Int32, Message, Timestamp


class GetOverviewRequest(Message, frozen=True):
    """Asks what of the caller's runs, waits and failed."""


class OverviewItem(Message, frozen=True):
    """One experiment or task; `startedAt` is the time of its submission."""

    kind: str = ""
    id: str = ""
    name: str = ""
    job_id: str = ""
    state: str = ""
    project_id: Int32 = 0
    workspace_id: Int32 = 0
    resource_pool: str = ""
    slots: Int32 = 0
    progress: Double = 0
    started_at: Timestamp | None = None
    ended_at: Timestamp | None = None
    jobs_ahead: Int32 = 0
    reason: str = ""


class GetOverviewResponse(Message, frozen=True):
    """Lists, the newest first, and the counts of all."""

    last_visit_at: Timestamp | None = None
    running: Sequence[OverviewItem] = ()
    queued: Sequence[OverviewItem] = ()
    failures: Sequence[OverviewItem] = ()
    running_count: Int32 = 0
    queued_count: Int32 = 0
    failure_count: Int32 = 0


class GetActivityRequest(Message, frozen=True):
    """Asks what the caller submitted and used by day."""

    days: Int32 = 0


class ActivityDay(Message, frozen=True):
    """One UTC day (`2026-01-31`): submissions, what became of them, and used slots."""

    day: str = ""
    submitted: Int32 = 0
    completed: Int32 = 0
    failed: Int32 = 0
    slot_seconds: Double = 0


class GetActivityResponse(Message, frozen=True):
    """Days, the oldest first, and what ended well since the last visit, the newest first."""

    last_visit_at: Timestamp | None = None
    days: Sequence[ActivityDay] = ()
    ended: Sequence[OverviewItem] = ()
    ended_count: Int32 = 0


class PostVisitRequest(Message, frozen=True):
    """Notes that the caller has seen what failed."""


class PostVisitResponse(Message, frozen=True):
    """It is noted."""


class WhatIfVariant(Message, frozen=True):
    """Other rules and other agents; empty for the recorded ones."""

    policy: str = ""
    agents: str = ""


class PostWhatIfRequest(Message, frozen=True):
    """Simulates the recorded queue of a pool in several variants."""

    resource_pool_name: str = ""
    hours: Int32 = 0
    variants: Sequence[WhatIfVariant] = ()


class WhatIfOutcome(Message, frozen=True):
    """One variant's outcome; times in seconds, `utilisation` from 0 to 1."""

    policy: str = ""
    agents: str = ""
    tasks: Int32 = 0
    ended: Int32 = 0
    wait_mean_s: Double = 0
    wait_p50_s: Double = 0
    wait_p95_s: Double = 0
    wait_max_s: Double = 0
    utilisation: Double = 0
    preemptions: Int32 = 0
    makespan_s: Double = 0
    error: str = ""


class PostWhatIfResponse(Message, frozen=True):
    """The record, then each variant."""

    pool: str = ""
    since: Timestamp | None = None
    until: Timestamp | None = None
    tasks: Int32 = 0
    unfinished: Int32 = 0
    agents: str = ""
    outcomes: Sequence[WhatIfOutcome] = ()
