"""Cases of workspaces and projects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.api import cases_experiments as scene
from tests.api.samples import Case, Prepare, World

from determined_master.services.workspaces.service import Workspaces

NAME = "wire <ws> & \u00e9"


async def none_of_samples(world: World) -> None:
    """Only the first workspace and its project."""
    async with world.services[Workspaces]._db.acquire() as conn:
        await conn.execute("UPDATE experiments SET project_id = 1, workspace_id = 1")
        await conn.execute("DELETE FROM projects WHERE id > 1")
        await conn.execute("DELETE FROM workspaces WHERE id > 1")
    world.names["path"] = "/tmp/elsewhere"


async def a_workspace(world: World) -> None:
    """The workspace of the samples, made by admin."""
    await none_of_samples(world)
    storage = {"type": "shared_fs", "host_path": "/tmp/elsewhere", "storage_path": "zz"}
    group = {"agentUid": 1, "agentGid": 2, "agentUser": "a", "agentGroup": "b"}
    body = {
        "name": NAME,
        "agentUserGroup": group,
        "checkpointStorageConfig": storage,
        "defaultComputePool": "default",
        "defaultAuxPool": "default",
    }
    answer = await world.clients["admin"]("POST", "/api/v1/workspaces", body)
    assert answer.status == 200, answer.body
    world.names["workspace_id"] = str(answer.json()["workspace"]["id"])


def a_project(*actions: str, changes: Mapping[str, Any] | None = None, **given: str) -> Prepare:
    """A project in that workspace; then something is done to it."""

    async def prepare(world: World) -> None:
        await a_workspace(world)
        admin = world.clients["admin"]
        path = f"/api/v1/workspaces/{world.names['workspace_id']}/projects"
        answer = await admin("POST", path, {"name": "wirep2", "description": "d", **given})
        assert answer.status == 200, answer.body
        world.names["project_id"] = str(answer.json()["project"]["id"])
        for action in actions:
            path = f"/api/v1/projects/{world.names['project_id']}/{action}"
            method, body = ("PUT", changes) if changes else ("POST", {})
            done = await admin(method, path, body)
            assert done.status == 200, done.body

    return prepare


async def the_first_project(world: World) -> None:
    """The immutable one."""
    await none_of_samples(world)
    world.names["project_id"] = "1"


async def an_ended_experiment_to_move(world: World) -> None:
    """In the first project, with another to move it to."""
    await a_project()(world)
    await scene.ended(world)
    world.names["int"] = world.names["project_id"]


NOTE = {"notes": [{"name": "n2", "contents": "c2"}]}
NOTED = a_project("notes", changes=NOTE)
CASES: dict[str, Case] = {
    "workspaces.create": Case(none_of_samples),
    "workspaces.get": Case(a_workspace),
    "workspaces.list": Case(a_workspace),
    "workspaces.patch.storage": Case(a_workspace),
    "workspaces.patch.forbidden": Case(a_workspace),
    "workspaces.pin": Case(a_workspace),
    "workspaces.archive": Case(a_workspace),
    "workspaces.delete": Case(a_workspace),
    "workspaces.pools": Case(a_workspace),
    "workspaces.namespace_bindings": Case(a_workspace),
    "projects.create": Case(a_workspace),
    "projects.key_taken": Case(a_project(key="WK"), phrase="project key 'WK' is taken"),
    "projects.by_key": Case(a_project(key="WK")),
    "projects.list": Case(a_project()),
    "projects.notes.put": Case(a_project()),
    "projects.patch": Case(NOTED),
    "projects.delete": Case(a_project()),
    "projects.archived_patch": Case(
        a_project("archive"),
        phrase="is archived and cannot have attributes updated: unarchive it first",
    ),
    "projects.immutable": Case(the_first_project),
    "experiments.move": Case(an_ended_experiment_to_move),
}
