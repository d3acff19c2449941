"""Messages of the list of all jobs that run or wait."""

from __future__ import annotations

from collections.abc import Sequence

from determined_wire.proto import Double, Int32, Message, Timestamp


class GetAllJobsRequest(Message, frozen=True):
    """Asks for the jobs of all pools."""


class ListedJob(Message, frozen=True):
    """One job that runs or waits, and where it stands in the queue of its pool."""

    job_id: str = ""
    kind: str = ""
    id: str = ""
    name: str = ""
    state: str = ""
    user_id: Int32 = 0
    username: str = ""
    workspace_id: Int32 = 0
    resource_pool: str = ""
    priority: Int32 = 0
    requested_slots: Int32 = 0
    allocated_slots: Int32 = 0
    jobs_ahead: Int32 = 0
    progress: Double = 0
    submitted_at: Timestamp | None = None
    reason: str = ""


class GetAllJobsResponse(Message, frozen=True):
    """The jobs that the caller may see, by pool in the order of its queue; `total` is of all."""

    jobs: Sequence[ListedJob] = ()
    total: Int32 = 0
    hidden_count: Int32 = 0
