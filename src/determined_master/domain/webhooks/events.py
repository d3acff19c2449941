"""Events of webhooks, and the bodies that are sent."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from typing import Any, Literal, get_args

import msgspec

WebhookType = Literal["default", "slack"]
WebhookMode = Literal["workspace", "specific"]
TriggerType = Literal["state", "log", "custom"]
WatchedState = Literal["ACTIVE", "PAUSED", "COMPLETED", "CANCELED", "ERROR"]
WATCHED_STATES: tuple[WatchedState, ...] = get_args(WatchedState)
"""States of experiments that a webhook can report."""

_WIRE_TYPES: Mapping[TriggerType, str] = {
    "state": "EXPERIMENT_STATE_CHANGE",
    "log": "TASK_LOG",
    "custom": "CUSTOM",
}
_GOOD, _BAD = "#13B670", "#DD5040"
_MARKS: Mapping[str, tuple[str, str]] = {
    "COMPLETED": (":white_check_mark:", "Experiment completed"),
    "CANCELED": (":warning:", "Experiment canceled"),
    "ERROR": (":x:", "Experiment failed"),
    "PAUSED": (":double_vertical_bar:", "Experiment paused"),
    "ACTIVE": (":arrow_forward:", "Experiment active"),
}


class ReportedExperiment(msgspec.Struct, frozen=True, omit_defaults=True):
    """The experiment of an event."""

    id: int
    state: str
    name: str
    duration: int = msgspec.field(default=-1)
    """Seconds from its start to the event, or to its end."""
    resource_pool: str = ""
    slots_per_trial: int = -1
    workspace: str = ""
    project: str = ""
    trial_id: int | None = None
    reason: str = ""
    """Why it failed, the cause first; empty in other states."""


class ReportedLog(msgspec.Struct, frozen=True):
    """The line of a log that matched."""

    task_id: str
    node_name: str
    triggering_log: str


class Alert(msgspec.Struct, frozen=True):
    """What a user's code reports."""

    title: str
    description: str
    level: str


class WebhookEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event as it is stored until its delivery. Without data, it is a test."""

    id: str
    """A UUID. A delivery that is repeated has the same."""
    type: TriggerType
    at: int
    """Unix time in seconds."""
    condition: dict[str, Any]
    experiment: ReportedExperiment | None = None
    log: ReportedLog | None = None
    alert: Alert | None = None


def body_of(event: WebhookEvent, type: WebhookType, base_url: str) -> bytes:
    """The JSON that is posted.

    Args:
        event: what has happened.
        type: the form.
        base_url: of the master's pages, for links; empty for no links.
    """
    made = _slack(event, base_url) if type == "slack" else _plain(event)
    return msgspec.json.encode(made)


def signature(key: str, timestamp: int, body: bytes) -> str:
    """The hex HMAC-SHA256 of a delivery: over the Unix time of sending, a comma, the body."""
    signed = b"%d,%s" % (timestamp, body)
    return hmac.new(key.encode(), signed, hashlib.sha256).hexdigest()


def _plain(event: WebhookEvent) -> dict[str, Any]:
    data: dict[str, Any] = {}
    if event.experiment is not None:
        data["experiment"] = event.experiment
    if event.log is not None:
        data["task_log"] = event.log
    if event.alert is not None:
        data["custom_data"] = event.alert
    return {
        "event_id": event.id,
        "event_type": _WIRE_TYPES[event.type],
        "timestamp": event.at,
        "condition": event.condition,
        "event_data": data or {"data": "test"},
    }


def _slack(event: WebhookEvent, base_url: str) -> dict[str, Any]:
    if event.log is not None:
        line = event.log.triggering_log.rstrip("\n")
        task, node, pattern, shown = (
            _escaped(str(text))
            for text in (event.log.task_id, event.log.node_name, event.condition["regex"], line)
        )
        text = f"A line of task `{task}` on node `{node}` matches `{pattern}`:\n```{shown}```"
        return {"blocks": [_section("mrkdwn", text)]}
    if event.experiment is None:
        return {"blocks": [_section("plain_text", "test")]}
    experiment, alert = event.experiment, event.alert
    mark, headline = _MARKS.get(experiment.state, ("", "Alert"))
    if alert is not None:
        headline = alert.title or "Alert"
    is_bad = (alert.level if alert else experiment.state) in ("ERROR", "CRITICAL")
    blocks = [{**_section("mrkdwn", _named(experiment, mark, base_url)), "fields": _facts(event)}]
    text = alert.description if alert is not None else experiment.reason
    if text:
        blocks.append(_section("mrkdwn", _escaped(text)))
    return {
        "blocks": [_section("plain_text", headline)],
        "attachments": [{"color": _BAD if is_bad else _GOOD, "blocks": blocks}],
    }


def _facts(event: WebhookEvent) -> list[dict[str, str]]:
    """The fields below an experiment's name."""
    experiment, alert = event.experiment, event.alert
    assert experiment is not None
    minutes = max(experiment.duration, 0) // 60
    facts = {
        "Status": experiment.state.capitalize(),
        "Duration": f"{minutes // 60}h {minutes % 60}min",
        "Level": alert.level.capitalize() if alert else "",
        "Trial": "" if experiment.trial_id is None else str(experiment.trial_id),
        "Workspace": experiment.workspace,
        "Project": experiment.project,
    }
    return [
        {"type": "mrkdwn", "text": f"*{name}*: {_escaped(value)}"}
        for name, value in facts.items()
        if value
    ]


def _named(experiment: ReportedExperiment, mark: str, base_url: str) -> str:
    name = _escaped(f"{experiment.name} (#{experiment.id})")
    if base_url:
        page = f"{base_url.rstrip('/')}/det/experiments/{experiment.id}/overview"
        name = f"<{page}|{name}>"
    return f"{mark} {name}".strip()


def _section(type: str, text: str) -> dict[str, Any]:
    return {"type": "section", "text": {"type": type, "text": text[:3000]}}


def _escaped(text: str) -> str:
    """Text that Slack shows as it is: no links, no mentions."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
