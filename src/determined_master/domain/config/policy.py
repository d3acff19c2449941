"""Config policies: what admins decide over the heads of users.

Only the seam for now: nothing stores policies yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec


class Constraints(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds that a submitted configuration must keep."""

    max_slots: int | None = None
    priority_limit: int | None = None


class Policies(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for one workspace, the cluster's part and its own put together."""

    invariant_config: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """A partial configuration that wins over everything a user says."""
    constraints: Constraints = Constraints()
