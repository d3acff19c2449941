"""Requests to every route that name real things, with other values in one of their fields."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tests.api import hostile
from tests.api.hidden import DETACHED
from tests.api.named_requests import NAMES, PARTS, named
from tests.api.samples import World

from determined_master.api.http.protojson.shape import shape_of
from determined_master.api.http.routes import Route
from determined_master.api.table import all_routes

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
OTHERS = {**NAMES, "user_id": "2", "username": "determined"}
"""A request changes another user than the one who sends it."""
LAST = ("DELETE", "kill", "delete", "cancel", "remove-assignments", "logout")


def _order(route: Route) -> tuple[bool, bool, str, str]:
    """What takes things away comes when the others have used them, the end of the session last."""
    words = (route.method, route.path.rpartition("/")[2])
    return (words[1] == "logout", any(w in LAST for w in words), route.path, route.method)


ROUTES = sorted((r for r in all_routes() if r.method not in ("WS", "*")), key=_order)


def requests_to(
    world: World,
    route: Route,
    values: hostile.Values,
    *,
    paths: Sequence[str] = (),
    raw: Sequence[bytes] = (),
) -> Iterator[tuple[str, bytes | None]]:
    """Target and body of each request to a route.

    Args:
        world: with the things that are named.
        route: of the requests.
        values: of each field of the request.
        paths: values of each parameter of the path.
        raw: bodies that are sent as they are.
    """
    base = named(world, route, OTHERS)
    whole = _merged(base.body, MORE.get(route.path, {}))
    body = None if route.method == "GET" else hostile.encoded(whole)
    for name in base.values:
        for text in paths:
            yield base.target(**{name: text}), body
    if route.request is None:
        return
    if route.method in ("GET", "DELETE"):
        known = "&".join(filter(None, (base.query, MORE_QUERIES.get(route.path, ""))))
        for query in hostile.queries(route.request, known, values):
            yield f"{base.path}?{query}", None
    part = PARTS.get((route.method, route.path), route.body)
    if part:
        for one in _of_part(route, part, whole, values):
            yield base.target(), hostile.encoded(one)
        for text in raw:
            yield base.target(), text


def _merged(below: Any, above: Any) -> Any:
    if not (isinstance(below, dict) and isinstance(above, dict)):
        return above
    return {k: _merged(below.get(k), above[k]) if k in above else below[k] for k in below | above}


def _of_part(route: Route, part: str, whole: Any, values: hostile.Values) -> Iterator[Any]:
    assert route.request is not None
    if part == "*":
        return hostile.bodies(route.request, whole, values)
    field = shape_of(route.request).by_name[part]
    if field.kind == "message":
        return hostile.bodies(field.target, whole, values)
    return values(route.request, field)
