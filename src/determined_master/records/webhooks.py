"""Records of webhooks and of their deliveries."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from determined_master.domain.webhooks.events import (
    TriggerType,
    WebhookMode,
    WebhookType,
)


class TriggerRow(msgspec.Struct, frozen=True):
    """One trigger of a webhook."""

    id: int
    type: TriggerType
    condition: dict[str, Any]


class WebhookRow(msgspec.Struct, frozen=True, kw_only=True):
    """One webhook with its triggers."""

    id: int
    workspace_id: int | None
    """None: of all workspaces."""
    name: str
    url: str
    type: WebhookType
    mode: WebhookMode
    owner_id: int | None
    """Who owns its workspace."""
    triggers: Sequence[TriggerRow] = ()


class DeliveryRow(msgspec.Struct, frozen=True, kw_only=True):
    """One event that a webhook has to deliver."""

    id: int
    webhook_id: int
    lane: str
    """Those of one webhook in one lane are delivered in order."""
    event: dict[str, Any]
    """A `WebhookEvent` as it is stored."""
    attempts: int
    due_at: datetime
    created_at: datetime
    name: str
    url: str
    type: WebhookType


class LogTriggerRow(msgspec.Struct, frozen=True):
    """One pattern that is looked for in the logs of a task."""

    id: int
    regex: str
