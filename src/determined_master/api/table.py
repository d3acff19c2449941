"""Every route of the master: the modules that declare them, and the document about them."""

from __future__ import annotations

from functools import cache

from determined_master.api.access import access_tokens, auth, groups, login_page, roles, users
from determined_master.api.checkpoints import checkpoints
from determined_master.api.checkpoints import gc as checkpoint_gc
from determined_master.api.cluster import (
    agents,
    documentation,
    master,
    pool_bindings,
    pools,
    prometheus,
    usage,
)
from determined_master.api.cluster import messages as cluster_messages
from determined_master.api.configs import policies as config_policies
from determined_master.api.configs import schemas, templates
from determined_master.api.experiments import bulk as experiment_bulk
from determined_master.api.experiments import continuations as experiment_lives
from determined_master.api.experiments import (
    detached,
    experiments,
    model_definitions,
    run_bulk,
    runs,
    stories,
    trials,
)
from determined_master.api.experiments import search_query as experiment_search
from determined_master.api.http.access import SIGNED_IN
from determined_master.api.http.openapi import document
from determined_master.api.http.routes import Call, Reply, Route, plain_route, routes_of
from determined_master.api.logs import task_logs as logs
from determined_master.api.metrics import metrics, profiler, series
from determined_master.api.metrics import streams as metric_streams
from determined_master.api.models import models
from determined_master.api.models import versions as model_versions
from determined_master.api.proxy import routes as proxy
from determined_master.api.queue import job_queue as job_queues
from determined_master.api.search import previews as search_previews
from determined_master.api.tasks import (
    allocations,
    commands,
    generic_tasks,
    harness,
    notebooks,
    shells,
    tasks,
    tensorboards,
)
from determined_master.api.updates import stream
from determined_master.api.webhooks import webhooks
from determined_master.api.workspaces import (
    namespaces,
    project_columns,
    projects,
    visits,
    workspaces,
)
from determined_master.services.cluster.master import Master

MODULES = (
    auth,
    login_page,
    documentation,
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
    prometheus,
    job_queues,
    workspaces,
    namespaces,
    projects,
    visits,
    webhooks,
    stream,
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
    checkpoint_gc,
    stories,
    usage,
    proxy,
)
"""Add a module of routes here; `make docs` then updates `docs/api-status.md`."""

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


@plain_route("GET", "/api/v1/openapi.json", access=SIGNED_IN, public=True)
async def openapi(call: Call, master: Master) -> Reply:
    """This API as an OpenAPI document."""
    return _document(master)


@plain_route("GET", "/api/v1/api.swagger.json", access=SIGNED_IN)
async def swagger(call: Call, master: Master) -> Reply:
    """The same at the path that clients know."""
    return _document(master)


def all_routes() -> list[Route]:
    """The route table."""
    return [*routes_of(*MODULES), openapi, swagger]


def _document(master: Master) -> Reply:
    text = _text(master.facts.version)
    return Reply(text, content_type="application/json")


@cache
def _text(version: str) -> bytes:
    return document(all_routes(), version)
