"""No route answers with an internal error to what cannot be stored or counted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import pytest_asyncio
from tests.api import hostile
from tests.api.hidden import DETACHED, hidden_world
from tests.api.named_requests import NAMES, PARTS, named
from tests.api.samples import World

from determined_master.api.http.protojson.shape import shape_of
from determined_master.api.http.routes import Route
from determined_master.api.table import all_routes
from determined_master.services.access.passwords import Passwords
from determined_master.store.db import Address

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

KINDS = ("command", "notebook", "shell", "tensorboard")
TASK = {"config": {"resources": {"slots": 0}}}
METRICS = {"trialRunId": 1, "stepsCompleted": 3, "metrics": {"avgMetrics": {"loss": 1.5}}}
MORE: dict[str, dict[str, Any]] = {
    "/api/ui/v1/series": {"metrics": [{"group": "training", "name": "loss"}]},
    "/api/ui/v1/runs/groups": {"by": "user", "columns": ["hp.lr"]},
    "/api/ui/v1/projects/{project_id}/views": {"name": "n", "scope": "project", "state": {}},
    "/api/ui/v1/projects/{project_id}/boards": {"name": "n", "scope": "private"},
    "/api/ui/v1/pools/{resource_pool_name}/what-if": {"variants": [{}]},
    "/api/v1/experiments": {"config": "entrypoint: x\nsearcher: {name: single, metric: loss}\n"},
    "/api/v1/preview-hp-search": {"config": "entrypoint: x\nsearcher: {name: single, metric: l}"},
    "/api/v1/commands": {"config": {**TASK["config"], "entrypoint": ["true"]}},
    "/api/v1/notebooks": TASK,
    "/api/v1/shells": TASK,
    "/api/v1/generic-tasks": {"parentId": None, "forkedFrom": None},
    "/api/v1/users": {"userIds": [2], "activate": True, "user": {"username": "other"}},
    "/api/v1/users/setting": {"settings": [{"key": "k", "value": "v", "storagePath": "p"}]},
    "/api/v1/config-policies/global/{workload_type}": {
        "configPolicies": "{invariant_config: {max_restarts: 3}}"
    },
    "/api/v1/config-policies/workspaces/{workspace_id}/{workload_type}": {
        "configPolicies": "{invariant_config: {max_restarts: 3}}"
    },
    "/api/v1/experiments/by-external-id/{external_experiment_id}": {
        "createExperimentRequest": {"config": DETACHED, "unmanaged": True}
    },
    "/api/v1/trials": {"createTrialRequest": {"experimentId": 2, "unmanaged": True}},
    "/api/v1/trials/{metrics.trial_id}/metrics": {"metrics": METRICS, "group": "validation"},
    "/api/v1/trials/{training_metrics.trial_id}/training_metrics": METRICS,
    "/api/v1/trials/{validation_metrics.trial_id}/validation_metrics": METRICS,
    "/api/v1/allocations/{allocation_id}/all_gather": {"numPeers": 1},
    **{f"/api/v1/{k}s/{{{k}_id}}/set_priority": {"priority": 9} for k in KINDS},
    "/api/v1/checkpoints": {"uuid": "c4f0ad88-6e57-4538-a111-000000000000", "metadata": {}},
}
"""What a request needs to be taken, beside the things that it names."""
METRIC = "metricName=loss&group=validation&startBatches=0"
MORE_QUERIES = {
    "/api/v1/experiments/{experiment_id}/metrics-stream/batches": METRIC,
    "/api/v1/experiments/{experiment_id}/metrics-stream/trials-sample": METRIC,
    "/api/v1/experiments/{experiment_id}/metrics-stream/trials-snapshot": METRIC,
    "/experiments/{experiment_id}/preview_gc": (
        "save_experiment_best=0&save_trial_best=0&save_trial_latest=0"
    ),
}
READ_RAW = ("/api/v1/models", "/api/v1/trials/metrics/batch", "/api/v1/experiments/{id}/move")
"""Routes whose bodies are read whole, by field, and by part: enough for what is no JSON."""
OTHERS = {**NAMES, "user_id": "2", "username": "determined"}
"""Who asks is not the one who is changed."""
STRANGERS = ("/api/v1/auth/login",)
LAST = ("DELETE", "kill", "delete", "cancel", "remove-assignments", "logout")


def _order(route: Route) -> tuple[bool, bool, str, str]:
    """What takes things away comes when the others have used them, the end of the session last."""
    words = (route.method, route.path.rpartition("/")[2])
    return (words[1] == "logout", any(w in LAST for w in words), route.path, route.method)


ROUTES = sorted((r for r in all_routes() if r.method not in ("WS", "*")), key=_order)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def world(postgres: Address, passwords: Passwords) -> AsyncIterator[World]:
    async with hidden_world(postgres, passwords) as made:
        yield made


async def test_no_route_answers_with_an_internal_error(world: World) -> None:
    """Ids beyond their column, NULs, halves of characters, names of 12 kB, JSON 90 deep."""
    client = world.clients["admin"]
    found = []
    for route in ROUTES:
        for target, body in requests_to(world, route):
            answer = await client(route.method, target, body)
            if answer.status >= 500 and answer.status != 501:
                found.append((route.method, target[:200], (body or b"")[:200], answer.body))
            assert answer.status != 401 or route.path in STRANGERS, (route.path, target)
    assert found == []


async def test_a_key_too_long_for_an_index_is_refused_with_the_limit(world: World) -> None:
    headers = {"Idempotency-Key": hostile.LONG}
    answer = await world.clients["admin"](
        "POST", "/api/v1/experiments", MORE["/api/v1/experiments"], headers=headers
    )
    assert (answer.status, "Idempotency-Key may have at most 512" in answer.text) == (400, True)


def requests_to(world: World, route: Route) -> Iterator[tuple[str, bytes | None]]:
    """Target and body of each hostile request to a route."""
    base = named(world, route, OTHERS)
    whole = _merged(base.body, MORE.get(route.path, {}))
    body = None if route.method == "GET" else hostile.encoded(whole)
    for name in base.values:
        for text in hostile.PATHS:
            yield base.target(**{name: text}), body
    if route.request is None:
        return
    if route.method in ("GET", "DELETE"):
        known = "&".join(filter(None, (base.query, MORE_QUERIES.get(route.path, ""))))
        for query in hostile.queries(route.request, known):
            yield f"{base.path}?{query}", None
    part = PARTS.get((route.method, route.path), route.body)
    if part:
        for one in _of_part(route, part, whole):
            yield base.target(), hostile.encoded(one)
        for raw in hostile.RAW:
            if route.path in READ_RAW:
                yield base.target(), raw


def _merged(below: Any, above: Any) -> Any:
    if not (isinstance(below, dict) and isinstance(above, dict)):
        return above
    return {k: _merged(below.get(k), above[k]) if k in above else below[k] for k in below | above}


def _of_part(route: Route, part: str, whole: Any) -> Iterator[Any]:
    assert route.request is not None
    if part == "*":
        return hostile.bodies(route.request, whole)
    field = shape_of(route.request).by_name[part]
    if field.kind == "message":
        return hostile.bodies(field.target, whole)
    return iter(hostile.VALUES[field.kind])
