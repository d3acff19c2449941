"""Checks of a webhook before it is stored."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec

from determined_master.domain.addresses import IPNetwork, find_problem
from determined_master.domain.errors import InvalidArgument
from determined_master.domain.patterns import find_fault
from determined_master.domain.webhooks.events import (
    WATCHED_STATES,
    TriggerType,
    WebhookMode,
    WebhookType,
)
from determined_master.domain.workspaces.naming import check_length

MAX_TRIGGERS = 50
MAX_PATTERN = 1000
MAX_URL = 2000
_MAX_HOST = 100
"""Characters of a host in a name that is made of it."""


class NewTrigger(msgspec.Struct, frozen=True):
    """What a webhook reports."""

    type: TriggerType
    condition: dict[str, Any]
    """`state` of an experiment, or `regex` of a line."""


class NewWebhook(msgspec.Struct, frozen=True, kw_only=True):
    """A webhook before it has an id."""

    name: str
    url: str
    type: WebhookType
    mode: WebhookMode
    triggers: tuple[NewTrigger, ...]
    workspace_id: int | None = None
    """None: of all workspaces."""


def check_webhook(new: NewWebhook, allowed: Sequence[IPNetwork]) -> NewWebhook:
    """The same webhook, with conditions that hold what their triggers need and nothing else.

    Raises:
        InvalidArgument: nothing triggers it, its name is too long, or its URL or a condition is
            wrong.
    """
    if not new.triggers:
        raise InvalidArgument("at least one trigger required")
    if len(new.triggers) > MAX_TRIGGERS:
        raise InvalidArgument(
            f"a webhook may have at most {MAX_TRIGGERS} triggers; this one has {len(new.triggers)}"
        )
    check_length("a webhook's name", new.name)
    check_url(new.url, allowed)
    if new.mode == "workspace" and any(t.type == "custom" for t in new.triggers):
        raise InvalidArgument(
            "custom trigger only work on webhook with mode SPECIFIC: set mode to "
            "WEBHOOK_MODE_SPECIFIC, and name the webhook in integrations.webhooks of the "
            "experiments that may use it"
        )
    checked = tuple(NewTrigger(t.type, _condition(t)) for t in new.triggers)
    return msgspec.structs.replace(new, triggers=checked)


def with_name(new: NewWebhook, webhook_id: int) -> NewWebhook:
    """The same webhook; one without a name gets one of its host, its triggers and its id.

    Scripts of 0.38.1 name no webhook. The id keeps two of them apart in one workspace. The path of
    the URL stays out of the name: it may be a secret, and everybody reads names.
    """
    if new.name.strip():
        return new
    host = (urlsplit(new.url).hostname or "")[:_MAX_HOST]
    words = dict.fromkeys(str(t.condition.get("state", t.type)) for t in new.triggers)
    return msgspec.structs.replace(new, name=f"{host} {', '.join(words)} #{webhook_id}")


def check_url(url: str, allowed: Sequence[IPNetwork]) -> None:
    """Check the form of a URL; a name's address is checked when something is sent.

    Raises:
        InvalidArgument: it is neither http nor https, or at an address that users may not name.
    """
    if len(url) > MAX_URL or any(c.isspace() or not c.isprintable() for c in url):
        raise InvalidArgument(
            f"url must be at most {MAX_URL} printable characters without spaces; "
            f"found {url[:80]!r}"
        )
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or parts.scheme not in ("http", "https"):
        raise InvalidArgument(
            f"url must be a valid URL such as https://example.org/path; found {url[:80]!r}"
        )
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return  # a name
    check_address(host, host, allowed)


def check_address(host: str, address: str, allowed: Sequence[IPNetwork]) -> None:
    """Raise InvalidArgument for a host at an address that users may not name."""
    problem = find_problem(host, address, allowed)
    if problem is not None:
        raise InvalidArgument(
            f"{problem}: an admin can name its network in webhooks.allowed_networks"
        )


def _condition(trigger: NewTrigger) -> dict[str, Any]:
    if trigger.type == "state":
        return {"state": _state(trigger.condition)}
    if trigger.type == "log":
        return {"regex": _pattern(trigger.condition)}
    return {}


def _state(condition: Mapping[str, Any]) -> str:
    state = condition.get("state")
    if state not in WATCHED_STATES:
        raise InvalidArgument(
            f"condition.state must be one of {', '.join(WATCHED_STATES)}; found {state!r}"
        )
    return str(state)


def _pattern(condition: Mapping[str, Any]) -> str:
    pattern = condition.get("regex")
    if not isinstance(pattern, str) or not 0 < len(pattern) <= MAX_PATTERN:
        raise InvalidArgument(
            f"condition.regex must be a text of 1 to {MAX_PATTERN} characters; "
            f"found {str(pattern)[:80]!r}"
        )
    fault = find_fault(pattern)
    if fault:
        raise InvalidArgument(f"condition.regex: {fault}")
    return pattern
