"""Records of configurations: templates."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec


class TemplateRow(msgspec.Struct, frozen=True):
    """One template: a partial configuration with a name."""

    name: str
    workspace_id: int
    config: dict[str, Any]
    owner_id: int | None = None
    """The user who made it; None for one that is older than this record."""
    changed_by: int | None = None
    """The user who wrote its present content."""
    author: str = ""
    """The name of that user."""
    changed_at: datetime | None = None
    is_admins: bool = False
    """Whether that user was an admin of the cluster."""
