"""A place that goes away while something is put there is told by its name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.api.client import Client
from tests.api.samples import World
from tests.api.workspaces.test_projects import CONFIG, project, workspace

from determined_master.services.experiments.configs import ExperimentConfigs
from determined_master.services.tasks import generic_tasks
from determined_master.services.tasks.interactive_configs import InteractiveConfigs

SEND: dict[str, tuple[Any, str]] = {
    "commands": (InteractiveConfigs, "prepare"),
    "experiments": (ExperimentConfigs, "prepare"),
    "generic-tasks": (generic_tasks.GenericTasks, "_context"),
}
"""What each kind does last before it stores what was checked."""
Meanwhile = Callable[[], Awaitable[object]]


@pytest.fixture
def admin(world: World) -> Client:
    return world.clients["admin"]


async def sent(
    admin: Client, kind: str, place: tuple[int, int], meanwhile: Meanwhile, patch: Any
) -> tuple[int, str]:
    """The answer to a launch; something happens between its checks and its storing."""
    owner, name = SEND[kind]
    checks = getattr(owner, name)

    async def checked(*args: Any, **more: Any) -> Any:
        done = await checks(*args, **more)
        await meanwhile()
        return done

    patch.setattr(owner, name, checked)
    workspace_id, project_id = place
    bodies: dict[str, dict[str, Any]] = {
        "commands": {"config": {"entrypoint": ["x"]}, "workspaceId": workspace_id},
        "experiments": {"config": CONFIG % "", "projectId": project_id, "activate": False},
        "generic-tasks": {"config": "entrypoint: [x]", "projectId": project_id},
    }
    answer = await admin("POST", f"/api/v1/{kind}", bodies[kind])
    return answer.status, answer.text


@pytest.mark.parametrize("kind", SEND)
async def test_a_place_that_is_deleted_meanwhile_is_not_found(
    admin: Client, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace_id = await workspace(admin)
    place = (workspace_id, await project(admin, workspace_id))

    async def delete() -> None:
        answer = await admin("DELETE", f"/api/v1/workspaces/{workspace_id}")
        assert answer.json() == {"completed": True}

    status, text = await sent(admin, kind, place, delete, monkeypatch)
    thing = f"workspace '{place[0]}'" if kind == "commands" else f"project '{place[1]}'"
    assert (status, text) == (404, f"{thing} not found")


@pytest.mark.parametrize("kind", SEND)
async def test_a_place_that_is_archived_meanwhile_takes_nothing(
    admin: Client, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace_id = await workspace(admin)
    place = (workspace_id, await project(admin, workspace_id))

    async def archive() -> None:
        await admin("POST", f"/api/v1/workspaces/{workspace_id}/archive")

    status, text = await sent(admin, kind, place, archive, monkeypatch)
    assert status == (404 if kind == "commands" else 400)
    assert text.endswith("is archived: unarchive it first")


@pytest.mark.parametrize("kind", ["experiments", "generic-tasks"])
async def test_a_project_that_moves_meanwhile_is_asked_for_again(
    admin: Client, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace_id, other = await workspace(admin), await workspace(admin, "other")
    place = (workspace_id, await project(admin, workspace_id))

    async def move() -> None:
        body = {"destinationWorkspaceId": other}
        await admin("POST", f"/api/v1/projects/{place[1]}/move", body)

    status, text = await sent(admin, kind, place, move, monkeypatch)
    assert status == 409
    assert "project 'p' was moved to another workspace meanwhile" in text
