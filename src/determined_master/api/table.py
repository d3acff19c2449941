"""Every route of the master: the modules that declare them, and the document about them."""

from __future__ import annotations

from functools import cache

import msgspec

from determined_master.api.access import access_tokens, auth, groups, login_page, roles, users
from determined_master.api.checkpoints import checkpoints
from determined_master.api.checkpoints import gc as checkpoint_gc
from determined_master.api.cluster import (
    agents,
    documentation,
    machine_starts,
    master,
    pool_bindings,
    pool_offers,
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
    shares,
    shells,
    tasks,
    tensorboards,
    terminals,
)
from determined_master.api.ui import agent_history as ui_agent_history
from determined_master.api.ui import attempts as ui_attempts
from determined_master.api.ui import audit as ui_audit
from determined_master.api.ui import boards as ui_boards
from determined_master.api.ui import events as ui_events
from determined_master.api.ui import generic_tasks as ui_generic_tasks
from determined_master.api.ui import importance as ui_importance
from determined_master.api.ui import jobs as ui_jobs
from determined_master.api.ui import media as ui_media
from determined_master.api.ui import overview as ui_overview
from determined_master.api.ui import registrations as ui_registrations
from determined_master.api.ui import rules as ui_rules
from determined_master.api.ui import run_groups as ui_run_groups
from determined_master.api.ui import rungs as ui_rungs
from determined_master.api.ui import series as ui_series
from determined_master.api.ui import stories as ui_stories
from determined_master.api.ui import views as ui_views
from determined_master.api.ui import what_if as ui_what_if
from determined_master.api.updates import live as live_updates
from determined_master.api.updates import stream
from determined_master.api.webhooks import webhooks
from determined_master.api.webui import pages as web_ui
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
    web_ui,
    documentation,
    users,
    groups,
    roles,
    access_tokens,
    master,
    cluster_messages,
    agents,
    machine_starts,
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
    live_updates,
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
    shares,
    shells,
    terminals,
    tensorboards,
    config_policies,
    models,
    model_versions,
    experiment_lives,
    experiment_bulk,
    checkpoint_gc,
    stories,
    pool_offers,
    usage,
    ui_series,
    ui_views,
    ui_boards,
    ui_stories,
    ui_attempts,
    ui_media,
    ui_registrations,
    ui_agent_history,
    ui_importance,
    ui_rungs,
    ui_run_groups,
    ui_jobs,
    ui_overview,
    ui_generic_tasks,
    ui_events,
    ui_audit,
    ui_what_if,
    ui_rules,
    proxy,
)
"""Add a module of routes here; `make docs` then updates `docs/api-status.md`."""

AUDITED = (
    users,
    groups,
    roles,
    access_tokens,
    master,
    cluster_messages,
    agents,
    pool_bindings,
    workspaces,
    namespaces,
    projects,
    webhooks,
    templates,
    config_policies,
    shares,
)
"""Modules whose changes go into the audit log. The journal has those of experiments and tasks."""
_NOT_AUDITED = frozenset(
    {
        "get_groups",
        "get_roles_by_id",
        "list_roles",
        "search_roles_assignable_to_scope",
        "post_user_setting",
        "reset_user_setting",
        "pin_workspace",
        "unpin_workspace",
        "post_webhook_event_data",
    }
)
"""Routes of these modules that only read, change only the caller's own view, or send a message."""

OURS: frozenset[tuple[str, str]] = frozenset(
    {
        ("GET", "/api/v1/openapi.json"),
        ("GET", "/api/v1/api.swagger.json"),
        ("GET", "/api/v1/trials/{id}/story"),
        ("GET", "/api/v1/experiments/{id}/story"),
        ("GET", "/api/v1/allocations/{id}/story"),
        ("POST", "/api/v1/agents/join-tokens"),
        ("GET", "/api/v1/schemas/experiment-config"),
        ("GET", "/api/v1/master/loop-stall"),
        ("GET", "/api/v1/job-queues/{id}/why"),
        ("GET", "/api/v1/resource-pools/{resource_pool_name}/offers"),
        ("GET", "/api/v1/resources/costs"),
        ("POST", "/api/v1/trials/{trial_id}/metrics/batch"),
        ("GET", "/api/v1/tasks/{task_id}/shares"),
        ("POST", "/api/v1/tasks/{task_id}/shares"),
        ("POST", "/api/v1/tasks/{task_id}/shares/revoke"),
    }
)
"""Routes below `/api/v1` that the public API does not have."""


@plain_route(
    "GET",
    "/api/v1/openapi.json",
    access=SIGNED_IN,
    public="the list of routes is the same everywhere",
)
async def openapi(call: Call, master: Master) -> Reply:
    """This API as an OpenAPI document."""
    return _document(master)


@plain_route("GET", "/api/v1/api.swagger.json", access=SIGNED_IN)
async def swagger(call: Call, master: Master) -> Reply:
    """The same at the path that clients know."""
    return _document(master)


@cache
def all_routes() -> tuple[Route, ...]:
    """The route table."""
    return (
        *routes_of(*(module for module in MODULES if module not in AUDITED)),
        *map(_audited, routes_of(*AUDITED)),
        openapi,
        swagger,
    )


def _audited(route: Route) -> Route:
    is_audited = route.kind == "unary" and route.method != "GET" and route.name not in _NOT_AUDITED
    return msgspec.structs.replace(route, is_audited=is_audited)


def _document(master: Master) -> Reply:
    text = _text(master.facts.version)
    return Reply(text, content_type="application/json")


@cache
def _text(version: str) -> bytes:
    return document(all_routes(), version)
