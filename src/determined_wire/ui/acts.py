"""Messages of acts of users on the cluster itself."""

from __future__ import annotations

from collections.abc import Sequence

from determined_wire.proto import Int32, Int64, Message, Timestamp


class GetActsRequest(Message, frozen=True):
    """Asks for acts with lower ids than `before`."""

    user_id: Int32 = 0
    since: Timestamp | None = None
    before: Int64 = 0
    limit: Int32 = 0


class Act(Message, frozen=True):
    """A successful request that changed the cluster."""

    id: Int64 = 0
    at: Timestamp | None = None
    user_id: Int32 = 0
    username: str = ""
    operation: str = ""
    method: str = ""
    path: str = ""


class GetActsResponse(Message, frozen=True):
    """Acts, the newest first; `next` is the `before` of the next page, 0 for none."""

    acts: Sequence[Act] = ()
    next: Int64 = 0
