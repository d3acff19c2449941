"""Records of the audit log: what users changed in the cluster itself."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A successful request that changed the cluster."""

    at: datetime
    user_id: int
    username: str
    operation: str
    """The name of the route."""
    method: str
    path: str
    details: str = ""
    """The users that the request changed, where its path names none."""


class ChangedUsers(msgspec.Struct, frozen=True):
    """The users that one request changed."""

    user_ids: Sequence[int]
    change: str = ""
    """The change, where the name of the route does not say it: `deactivated`."""


class StoredAuditEntry(AuditEntry, frozen=True, kw_only=True):
    """An entry with its number."""

    id: int
