"""A master where roles decide, and a workspace with one of everything in it.

`names` has the values that stand for parameters of paths and fields of requests. What must not
be told to those who may not see the workspace has `MARK` in it.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import msgspec
from tests.api import cases_experiments as scene
from tests.api.client import Client
from tests.api.master import PASSWORD, SETTINGS, running_services
from tests.api.samples import World
from tests.ready_database import ready_database

from determined_master.api.app import Api
from determined_master.api.table import all_routes
from determined_master.services.access.auth import Auth
from determined_master.services.access.identities import Identities
from determined_master.services.access.passwords import Passwords
from determined_master.settings.security import Authz, Security
from determined_master.store.db import Address, open_database

MARK = "hush"
RBAC = Security(authz=Authz(type="rbac"))
DETACHED = f"name: {MARK}\nsearcher: {{name: single, metric: loss}}\n"
VIEWER, EDITOR, WORKSPACE_ADMIN, CLUSTER_ADMIN = 4, 5, 2, 1


@contextlib.asynccontextmanager
async def hidden_world(
    postgres: Address, passwords: Passwords, **changes: Any
) -> AsyncIterator[World]:
    """Clients `admin` and `user`; the user has no role. Settings by name are taken over."""
    settings = msgspec.structs.replace(SETTINGS, security=RBAC, **changes)
    async with (
        ready_database(postgres) as address,
        await open_database(address, min_size=1) as pool,
        running_services(address, pool, passwords, settings) as (services, engine),
    ):
        api = Api(all_routes(), services, services[Identities])
        world = World(services, engine, {}, {})
        for name, username in (("admin", "admin"), ("user", "determined")):
            opened = await services[Auth].login(username, PASSWORD, is_hashed=False)
            world.clients[name] = Client(api, opened.token)
        await _fill(world)
        yield world
        api.close()


async def ok(client: Client, method: str, path: str, body: Any = None) -> Any:
    """What a request that must succeed answers."""
    answer = await client(method, path, body)
    assert answer.status == 200, (method, path, answer.body)
    return answer.json()


async def give(world: World, role_id: int, workspace_id: int | None, user_id: int = 2) -> None:
    """Give a user a role, in a workspace or in the cluster."""
    await ok(
        world.clients["admin"],
        "POST",
        "/api/v1/roles/add-assignments",
        _body(role_id, workspace_id, user_id),
    )


async def take(world: World, role_id: int, workspace_id: int | None, user_id: int = 2) -> None:
    """Take that role away."""
    await ok(
        world.clients["admin"],
        "POST",
        "/api/v1/roles/remove-assignments",
        _body(role_id, workspace_id, user_id),
    )


def _body(role_id: int, workspace_id: int | None, user_id: int) -> dict[str, Any]:
    scope = {"scopeWorkspaceId": workspace_id} if workspace_id else {"scopeCluster": True}
    assignment = {"role": {"roleId": role_id}, **scope}
    return {"userRoleAssignments": [{"userId": user_id, "roleAssignment": assignment}]}


async def _fill(world: World) -> None:
    admin = world.clients["admin"]
    made = await ok(admin, "POST", "/api/v1/workspaces", {"name": f"{MARK} place"})
    workspace = made["workspace"]["id"]
    body = {"name": f"{MARK} project", "workspaceId": workspace, "key": "SSH"}
    project = await ok(admin, "POST", f"/api/v1/workspaces/{workspace}/projects", body)
    project_id = project["project"]["id"]
    await scene.finished(world)
    experiment = f"/api/v1/experiments/{world.names['experiment_id']}"
    await ok(admin, "POST", f"{experiment}/move", {"destinationProjectId": project_id})
    await ok(admin, "PATCH", experiment, {"name": MARK, "labels": [MARK], "notes": MARK})
    group = await ok(admin, "POST", "/api/v1/groups", {"name": MARK, "addUsers": [1]})
    template = {"config": {"description": MARK}, "workspaceId": workspace}
    await ok(admin, "POST", "/api/v1/templates/tpl", template)
    model = {"name": "mod", "description": MARK, "workspaceId": workspace, "labels": [MARK]}
    await ok(admin, "POST", "/api/v1/models", model)
    version = {"checkpointUuid": world.names["uuid"], "comment": MARK}
    await ok(admin, "POST", "/api/v1/models/mod/versions", version)
    view = {"name": MARK, "scope": "workspace", "state": {"x": MARK}}
    await ok(admin, "POST", f"/api/ui/v1/projects/{project_id}/views", view)
    task = {"config": f"entrypoint: [python3, {MARK}.py]\n", "projectId": project_id}
    hook = {"url": "http://example.org", "name": MARK, "workspaceId": workspace}
    hook |= {"webhookType": "WEBHOOK_TYPE_DEFAULT", "mode": "WEBHOOK_MODE_WORKSPACE"}
    trigger = {"triggerType": "TRIGGER_TYPE_TASK_LOG", "condition": {"regex": MARK}}
    webhook = await ok(admin, "POST", "/api/v1/webhooks", {**hook, "triggers": [trigger]})
    generic = await ok(admin, "POST", "/api/v1/generic-tasks", task)
    body = {"config": DETACHED, "projectId": project_id, "unmanaged": True}
    await ok(admin, "PUT", "/api/v1/experiments/by-external-id/ext", body)
    config = {"description": MARK, "resources": {"slots": 0}}
    for kind in ("command", "notebook", "shell", "tensorboard"):
        body = {"config": dict(config), "workspaceId": workspace}
        if kind == "command":
            body["config"] = {**config, "entrypoint": ["true"]}
        if kind == "tensorboard":
            body["experimentIds"] = [int(world.names["experiment_id"])]
        world.names[kind] = (await ok(admin, "POST", f"/api/v1/{kind}s", body))[kind]["id"]
    world.names |= {
        "external_experiment": "ext",
        "workspace": str(workspace),
        "project": str(project_id),
        "project_key": "SSH",
        "experiment": world.names["experiment_id"],
        "trial": world.names["trial_id"],
        "checkpoint": world.names["uuid"],
        "task": world.names["task_id"],
        "allocation": world.names["allocation_id"],
        "template": "tpl",
        "model": "mod",
        "webhook": str(webhook["webhook"]["id"]),
        "generic": generic["taskId"],
        "group": str(group["group"]["groupId"]),
    }
