"""Routes of webhooks."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from determined_master.api.http.access import FILTERED, IN_SERVICE, of_task, on
from determined_master.api.http.routes import Call, route
from determined_master.api.http.task_use import REPORTS
from determined_master.domain.access.rules import NOWHERE, Caller, can
from determined_master.domain.errors import InvalidArgument
from determined_master.domain.webhooks import events
from determined_master.domain.webhooks.definitions import NewTrigger, NewWebhook
from determined_master.records.webhooks import TriggerRow, WebhookRow
from determined_master.services.webhooks.service import Webhooks
from determined_wire.masking import MASK
from determined_wire.rest import webhooks as wire
from determined_wire.rest.types.webhook import (
    Trigger,
    TriggerType,
    Webhook,
    WebhookMode,
    WebhookType,
)

_TRIGGERS: Mapping[TriggerType, events.TriggerType] = {
    TriggerType.TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE: "state",
    TriggerType.TRIGGER_TYPE_TASK_LOG: "log",
    TriggerType.TRIGGER_TYPE_CUSTOM: "custom",
}
_WIRE_TRIGGERS = {word: kind for kind, word in _TRIGGERS.items()}
_TYPES: Mapping[WebhookType, events.WebhookType] = {
    WebhookType.WEBHOOK_TYPE_DEFAULT: "default",
    WebhookType.WEBHOOK_TYPE_SLACK: "slack",
}
_WIRE_TYPES = {word: kind for kind, word in _TYPES.items()}
_MODES: Mapping[WebhookMode, events.WebhookMode] = {
    WebhookMode.WEBHOOK_MODE_UNSPECIFIED: "workspace",
    WebhookMode.WEBHOOK_MODE_WORKSPACE: "workspace",
    WebhookMode.WEBHOOK_MODE_SPECIFIC: "specific",
}
_WIRE_MODES = {word: kind for kind, word in _MODES.items()}


@route("GET", "/api/v1/webhooks", access=FILTERED)
async def get_webhooks(
    call: Call, request: wire.GetWebhooksRequest, webhooks: Webhooks
) -> wire.GetWebhooksResponse:
    """All webhooks that the caller sees."""
    found = await webhooks.list_all(call.caller)
    return wire.GetWebhooksResponse(webhooks=[_shown(call.caller, row) for row in found])


@route("POST", "/api/v1/webhooks", access=IN_SERVICE)
async def post_webhook(
    call: Call, request: wire.PostWebhookRequest, webhooks: Webhooks
) -> wire.PostWebhookResponse:
    """Store a webhook."""
    given = request.webhook or Webhook()
    new = NewWebhook(
        name=given.name,
        url=given.url,
        type=_type(given.webhook_type) if given.triggers else "default",
        mode=_MODES[given.mode],
        triggers=tuple(_new_trigger(t) for t in given.triggers),
        workspace_id=given.workspace_id or None,
    )
    row = await webhooks.create(call.caller, new)
    return wire.PostWebhookResponse(webhook=_shown(call.caller, row))


@route("PATCH", "/api/v1/webhooks/{id}", access=on("webhook", "id", "edit", "webhook"))
async def patch_webhook(
    call: Call, request: wire.PatchWebhookRequest, webhooks: Webhooks
) -> wire.PatchWebhookResponse:
    """Change the address of a webhook."""
    url = request.webhook.url if request.webhook else ""
    await webhooks.change_url(call.caller, request.id, url)
    return wire.PatchWebhookResponse()


@route("DELETE", "/api/v1/webhooks/{id}", access=on("webhook", "id", "edit", "webhook"))
async def delete_webhook(
    call: Call, request: wire.DeleteWebhookRequest, webhooks: Webhooks
) -> wire.DeleteWebhookResponse:
    """Delete a webhook with what it has to deliver."""
    await webhooks.delete(call.caller, request.id)
    return wire.DeleteWebhookResponse()


@route("POST", "/api/v1/webhooks/{id}/test", access=on("webhook", "id", "edit", "webhook"))
async def test_webhook(
    call: Call, request: wire.TestWebhookRequest, webhooks: Webhooks
) -> wire.TestWebhookResponse:
    """Send an event without data, once. `completed` is never true, as clients know it."""
    await webhooks.test(call.caller, request.id)
    return wire.TestWebhookResponse()


@route(
    "POST",
    "/api/v1/webhooks/custom",
    access=on("experiment", "experiment_id", "report", "task"),
    task=of_task("experiment_id"),
    in_task=REPORTS,
)
async def post_webhook_event_data(
    call: Call, request: wire.PostWebhookEventDataRequest, webhooks: Webhooks
) -> wire.PostWebhookEventDataResponse:
    """Report what an experiment's code has found (`core.alert`)."""
    if request.data is None:
        raise InvalidArgument("the request has no data")
    data = request.data
    level = data.level.value.removeprefix("LOG_LEVEL_")
    alert = events.Alert(data.title, data.description, level)
    await webhooks.alert(call.caller, request.experiment_id, request.trial_id, alert)
    return wire.PostWebhookEventDataResponse()


def _type(given: WebhookType) -> events.WebhookType:
    if given not in _TYPES:
        names = " or ".join(kind.value for kind in _TYPES)
        raise InvalidArgument(f"webhookType must be {names}; found {given.value}")
    return _TYPES[given]


def _new_trigger(given: Trigger) -> NewTrigger:
    if given.trigger_type not in _TRIGGERS:
        names = ", ".join(kind.value for kind in _TRIGGERS)
        raise InvalidArgument(
            f"triggerType must be one of {names}; found {given.trigger_type.value}"
        )
    return NewTrigger(_TRIGGERS[given.trigger_type], dict(given.condition or {}))


def _shown(caller: Caller, row: WebhookRow) -> Webhook:
    """With the whole address if the caller may change it: its path may be a secret."""
    place = row.workspace_id or NOWHERE
    is_open = can(caller, "edit", "webhook", owner_id=row.owner_id, workspace_id=place)
    return Webhook(
        id=row.id,
        url=row.url if is_open else _hidden(row.url),
        triggers=[_trigger(row.id, t) for t in row.triggers],
        webhook_type=_WIRE_TYPES[row.type],
        name=row.name,
        workspace_id=row.workspace_id or 0,
        mode=_WIRE_MODES[row.mode],
    )


def _hidden(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}/{MASK}"


def _trigger(webhook_id: int, row: TriggerRow) -> Trigger:
    kind = _WIRE_TRIGGERS[row.type]
    return Trigger(
        id=row.id, trigger_type=kind, condition=dict(row.condition), webhook_id=webhook_id
    )
