"""Requests to every route of the table that name things of a world wherever they name any."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from tests.api.client import Answer
from tests.api.samples import World

from determined_master.api.http.access import Need, Rule
from determined_master.api.http.routes import Route
from determined_wire.rest.endpoints import ENDPOINTS

NAMES = {
    "id": "1",
    "template.name": "mine",
    "user_id": "1",
    "username": "admin",
    "agent_id": "a1",
    "machine": "x86_64",
    "slot_id": "0",
    "resource_pool_name": "default",
    "workload_type": "EXPERIMENT",
    "resources_id": "r",
    "label": "x",
    "key": "lr",
    "role_id": "1",
    "token_id": "1",
    "model_version_num": "1",
    "page*": "tutorial",
    "external_trial_id": "x",
    "media_group": "training",
    "media_name": "x",
    "media_file": "000000000001.text.txt",
    "path*": "x",
    "path**": "x",
}
"""Values of parameters that name nothing in a workspace."""
BODIES: dict[tuple[str, str], Any] = {
    ("PATCH", "/api/v1/users"): {"userIds": [1], "activate": False},
    ("POST", "/api/v1/groups/search"): {"limit": 9},
    ("POST", "/api/v1/groups"): {"name": "mine"},
    ("POST", "/api/v1/roles/search"): {"limit": 9},
    ("POST", "/api/v1/roles/search/by-ids"): {"roleIds": [1, 2, 4]},
    ("POST", "/api/v1/roles/search/by-assignability"): {"limit": 9},
    ("POST", "/api/v1/workspaces"): {"name": "mine"},
    ("POST", "/api/v1/tokens"): {"userId": 1},
    ("POST", "/api/v1/models"): {"name": "mine"},
    ("POST", "/api/v1/webhooks"): {
        "url": "http://example.org",
        "name": "mine",
        "webhookType": "WEBHOOK_TYPE_DEFAULT",
        "triggers": [{"triggerType": "TRIGGER_TYPE_TASK_LOG", "condition": {"regex": "x"}}],
    },
    ("PATCH", "/api/v1/webhooks/{id}"): {"url": "http://example.org"},
    ("POST", "/api/v1/webhooks/custom"): {"data": {"title": "x"}},
    ("POST", "/api/ui/v1/runs/groups"): {"by": "user"},
    ("POST", "/api/v1/generic-tasks"): {"config": "entrypoint: x"},
    ("PATCH", "/api/v1/users/{user_id}"): {"admin": True},
    ("POST", "/api/v1/users"): {"user": {"username": "x"}},
    ("POST", "/api/v1/users/{user_id}/password"): "Secret-12345",
    ("PUT", "/api/v1/config-policies/global/{workload_type}"): {"configPolicies": "{}"},
}
_FROM = "2026-01-01T00:00:00Z"
_UNTIL = "2026-01-02T00:00:00Z"
QUERIES = {
    "/api/ui/v1/live/events": "topics=exp:2147483647",
    "/api/v1/resources/costs": f"timestampAfter={_FROM}&timestampBefore={_UNTIL}",
    "/api/v1/resources/allocation/raw": f"timestampAfter={_FROM}&timestampBefore={_UNTIL}",
    "/api/v1/resources/allocation/aggregated": (
        "startDate=2026-01-01&endDate=2026-01-02&period=RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY"
    ),
    "/resources/allocation/raw": f"timestamp_after={_FROM}&timestamp_before={_UNTIL}",
    "/resources/allocation/allocations-csv": f"timestamp_after={_FROM}&timestamp_before={_UNTIL}",
    "/resources/allocation/aggregated": (
        "start_date=2026-01-01&end_date=2026-01-02&period=RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY"
    ),
}
PARTS = {(e.method, e.path): e.body for e in ENDPOINTS}
LISTS = {"ids", "trial_ids", "experiment_ids", "checkpoint_uuids", "workspace_ids"}
MANY = {"checkpoints", "batches", "logs"}


class Named(msgspec.Struct, frozen=True):
    """A request to a route; a GET has no body."""

    route: Route
    values: dict[str, str]
    """Of the path, by name."""
    query: str
    body: Any

    @property
    def path(self) -> str:
        """The address without its query."""
        return self.target().partition("?")[0]

    def target(self, **others: str) -> str:
        """The address, with other values of the path's parameters where they are given."""
        path = self.route.path
        for name, value in (self.values | others).items():
            path = path.replace(f"{{{name}}}", value)
        return path + (f"?{self.query}" if self.query else "")


def rule_of(route: Route) -> Rule:
    return route.access


def needs_of(route: Route) -> tuple[Need, ...]:
    rule = rule_of(route)
    return () if isinstance(rule, str) else rule


async def sent(world: World, route: Route) -> Answer:
    """The answer to the request of `named` by who is no admin."""
    request = named(world, route)
    body = None if route.method == "GET" else request.body
    return await world.clients["user"](route.method, request.target(), body)


def named(world: World, route: Route, others: Mapping[str, str] = NAMES) -> Named:
    """The request that names what is hidden wherever the route names anything.

    Args:
        world: with the names of what is hidden.
        route: of the request.
        others: values of parameters that name nothing hidden.
    """
    needs = {need.field: world.names.get(need.thing, "nothing") for need in needs_of(route)}
    values = dict[str, str]()
    for part in route.path.split("/"):
        if part.startswith("{"):
            name = part.strip("{}")
            value = needs.get(name) or others.get(name) or world.names[name.removesuffix("_id")]
            values[name] = value
    body: Any = BODIES.get((route.method, route.path), {})
    if (route.method, route.path) == ("POST", "/task-logs"):
        body = [{"task_id": world.names["task"], "log": "x"}]
    elif (route.method, route.path) == ("POST", "/api/v1/runs/kill"):
        body = {"runIds": [int(world.names["trial"])]}
    elif (route.method, route.path) == ("POST", "/api/v1/templates/{template.name}"):
        body = {"config": {}, "workspaceId": int(world.names["workspace"])}
    query = [QUERIES[route.path]] if route.path in QUERIES else []
    for field, value in needs.items():
        if field in values:
            continue
        names = [_camel(part) for part in field.split(".")]
        if route.method == "GET":
            query.append(f"{'.'.join(names)}={value}")
        elif names[0] != _camel(PARTS.get((route.method, route.path), "*")):
            body = _with(dict(body), names, value, field)
        else:  # the body is that part of the request
            body = _with(dict(body), names[1:], value, field)
    return Named(route, values, "&".join(query), body)


def _with(body: dict[str, Any], names: list[str], value: str, field: str) -> dict[str, Any]:
    """The body with a value at a dotted name."""
    first, *rest = names
    inner: Any = value
    if rest:
        known = body.get(first, {})
        known = known[0] if isinstance(known, list) else known
        inner = _with(dict(known), rest, value, field)
        inner = [inner] if first in MANY else inner
    elif field in LISTS:
        inner = [value]
    return {**body, first: inner}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
