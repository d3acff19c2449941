"""Each route says whether code in a task may call it with its user's token, and why."""

from __future__ import annotations

from pathlib import Path

import pytest

from determined_master.api.http.access import SIGNED_IN
from determined_master.api.http.routes import plain_route
from determined_master.api.http.task_use import USES, check_task_use, is_closed
from determined_master.api.table import all_routes
from determined_master.domain.access.rules import Caller
from determined_master.domain.errors import PermissionDenied

SDK = Path(__file__).parents[2] / "data" / "sdk_routes.txt"
"""The routes that the SDK and the harness of 0.38.1 call."""
NOT_FOR_TASKS = {
    ("POST", "/api/v1/users"),
    ("PATCH", "/api/v1/users/{user_id}"),
    ("POST", "/api/v1/webhooks"),
    ("POST", "/api/v1/resource-pools/{resource_pool_name}/workspace-bindings"),
    ("PUT", "/api/v1/resource-pools/{resource_pool_name}/workspace-bindings"),
    ("DELETE", "/api/v1/resource-pools/{resource_pool_name}/workspace-bindings"),
}
"""Of those: they change accounts and settings of the cluster, and outlive the task."""
CODE = Caller(user_id=1, username="ada", is_admin=True, is_task_session=True)
CHANGES = ("POST", "PUT", "PATCH", "DELETE")
CLOSED_WORDS = (
    "templates", "template", "config-policies", "roles", "groups", "tokens", "users", "webhooks",
    "master", "agents", "workspace-bindings", "namespace-bindings",
)  # fmt: skip


def test_every_declaration_gives_one_of_the_reasons() -> None:
    assert {r.in_task for r in all_routes()} == {"", *USES}


def test_the_sdk_and_the_harness_of_0_38_1_work_in_tasks() -> None:
    used = {tuple(line.split()) for line in SDK.read_text().splitlines()}
    closed = {(r.method, r.path) for r in all_routes() if not (r.in_task or r.is_public)}
    assert used & closed == NOT_FOR_TASKS


def test_every_route_of_the_tasks_own_token_is_open_to_the_users_token() -> None:
    assert [r.path for r in all_routes() if r.task is not None and not r.in_task] == []


def test_no_change_of_accounts_rights_and_settings_is_open_to_tasks() -> None:
    reads = {("POST", "/api/v1/groups/search"), ("POST", "/api/v1/roles/search")}
    own = {("POST", "/api/v1/webhooks/custom")}  # an event of the task's own experiment
    open_changes = {
        (r.method, r.path)
        for r in all_routes()
        if r.in_task and r.method in CHANGES and set(r.path.split("/")) & set(CLOSED_WORDS)
    }
    assert open_changes == reads | own


def test_pages_and_channels_of_the_web_ui_are_closed_to_tasks() -> None:
    assert [r.path for r in all_routes() if r.in_task and r.path.startswith("/api/ui/")] == []


def test_a_refusal_names_the_route_and_the_remedy() -> None:
    with pytest.raises(PermissionDenied, match=r"code in a task may not call POST /x .* log in"):
        check_task_use("", CODE, "POST", "/x")
    check_task_use("reads", CODE, "POST", "/x")
    check_task_use("", Caller(user_id=1, username="ada"), "POST", "/x")


def test_a_route_without_a_declaration_is_closed() -> None:
    @plain_route("GET", "/x", access=SIGNED_IN)
    async def silent(call: object) -> None:
        """Says nothing."""

    assert is_closed(silent.in_task, CODE)
