"""Messages of the audit log: what users changed in the cluster itself."""

from __future__ import annotations

from collections.abc import Sequence

from determined_wire.proto import Int32, Int64, Message, Timestamp


class GetAuditRequest(Message, frozen=True):
    """Asks for entries with lower ids than `before`."""

    user_id: Int32 = 0
    since: Timestamp | None = None
    before: Int64 = 0
    limit: Int32 = 0


class AuditEntry(Message, frozen=True):
    """A successful request that changed the cluster."""

    id: Int64 = 0
    at: Timestamp | None = None
    user_id: Int32 = 0
    username: str = ""
    operation: str = ""
    method: str = ""
    path: str = ""
    details: str = ""
    """The first users that the request changed and their number, where the path names none."""


class GetAuditResponse(Message, frozen=True):
    """Entries, the newest first; `next` is the `before` of the next page, 0 for none."""

    entries: Sequence[AuditEntry] = ()
    next: Int64 = 0


class GetActsResponse(Message, frozen=True):
    """The same under the old path."""

    acts: Sequence[AuditEntry] = ()
    next: Int64 = 0
