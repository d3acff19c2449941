"""Records of acts of users on the cluster itself."""

from __future__ import annotations

from datetime import datetime

import msgspec


class NewAct(msgspec.Struct, frozen=True, kw_only=True):
    """A successful request that changed the cluster."""

    at: datetime
    user_id: int
    username: str
    operation: str
    """The name of the route."""
    method: str
    path: str


class ActRow(NewAct, frozen=True, kw_only=True):
    """A stored act."""

    id: int
