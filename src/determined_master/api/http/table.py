"""Every route of the master: the modules that declare them, and the document about them."""

from __future__ import annotations

from functools import cache

from determined_master.api import (
    access_tokens,
    agents,
    allocations,
    auth,
    checkpoints,
    cluster_messages,
    collections,
    commands,
    config_policies,
    detached,
    experiment_bulk,
    experiment_lives,
    experiment_search,
    experiments,
    generic_tasks,
    groups,
    harness,
    job_queues,
    logs,
    master,
    metric_streams,
    metrics,
    model_definitions,
    model_versions,
    models,
    namespaces,
    notebooks,
    pool_bindings,
    pools,
    profiler,
    project_columns,
    projects,
    proxy,
    roles,
    run_bulk,
    runs,
    schemas,
    search_previews,
    series,
    shells,
    stories,
    tasks,
    templates,
    tensorboards,
    trials,
    usage,
    users,
    workspaces,
)
from determined_master.api.openapi import document
from determined_master.api.routes import Call, Reply, Route, plain_route, routes_of

MODULES = (
    auth,
    users,
    groups,
    roles,
    access_tokens,
    master,
    cluster_messages,
    agents,
    harness,
    pools,
    pool_bindings,
    job_queues,
    workspaces,
    namespaces,
    projects,
    experiments,
    experiment_search,
    runs,
    run_bulk,
    project_columns,
    series,
    metric_streams,
    model_definitions,
    trials,
    detached,
    profiler,
    metrics,
    checkpoints,
    tasks,
    logs,
    allocations,
    search_previews,
    schemas,
    templates,
    generic_tasks,
    commands,
    notebooks,
    shells,
    tensorboards,
    config_policies,
    models,
    model_versions,
    experiment_lives,
    experiment_bulk,
    collections,
    stories,
    usage,
    proxy,
)
"""Add a module of routes here; `docs/api-status.md` is then made anew."""

OURS: frozenset[tuple[str, str]] = frozenset(
    {
        ("GET", "/api/v1/openapi.json"),
        ("GET", "/api/v1/api.swagger.json"),
        ("GET", "/api/v1/trials/{id}/story"),
        ("GET", "/api/v1/experiments/{id}/story"),
        ("GET", "/api/v1/allocations/{id}/story"),
        ("GET", "/api/v1/agents/join-token"),
        ("GET", "/api/v1/schemas/experiment-config"),
        ("GET", "/api/v1/master/loop-stall"),
        ("GET", "/api/v1/job-queues/{id}/why"),
        ("POST", "/api/v1/trials/{trial_id}/metrics/batch"),
    }
)
"""Routes below `/api/v1` that the public API does not have."""


@plain_route("GET", "/api/v1/openapi.json")
async def openapi(call: Call) -> Reply:
    """This API as an OpenAPI document."""
    return _document(call)


@plain_route("GET", "/api/v1/api.swagger.json")
async def swagger(call: Call) -> Reply:
    """The same at the path that clients know."""
    return _document(call)


def all_routes() -> list[Route]:
    """The route table."""
    return [*routes_of(*MODULES), openapi, swagger]


def _document(call: Call) -> Reply:
    text = _text(call.services.master.facts.version)
    return Reply(text, content_type="application/json")


@cache
def _text(version: str) -> bytes:
    return document(all_routes(), version)
