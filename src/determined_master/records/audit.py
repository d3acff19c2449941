"""Records of the audit log: what users changed in the cluster itself."""

from __future__ import annotations

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


class StoredAuditEntry(AuditEntry, frozen=True, kw_only=True):
    """An entry with its number."""

    id: int
