"""Faults between users and tasks of others, which another platform of this kind had in 2026."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest
from tests.api import cases_experiments as scene
from tests.api.client import Client
from tests.api.hidden import EDITOR, give, ok, take
from tests.api.master import PASSWORD
from tests.api.samples import World
from tests.attacks.tasks import as_code_of, as_task

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
WITH_IMAGE = (
    "environment: {image: ann/own:1, registry_auth: {username: ann, password: hush-hush}, "
    "pod_spec: {spec: {imagePullSecrets: [{name: anns}]}}}\n"
)


async def login_of(world: World, name: str = "determined") -> Client:
    app = world.clients["admin"].app
    answer = await Client(app)(
        "POST", "/api/v1/auth/login", {"username": name, "password": PASSWORD}
    )
    return Client(app, answer.json()["token"])


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/api/v1/users", None),
        ("GET", "/api/v1/experiments", None),
        ("POST", "/api/v1/experiments", {"config": scene.CONFIG, "modelDefinition": [scene.FILE]}),
        ("POST", "/api/v1/commands", {"config": {"entrypoint": ["true"]}}),
        ("POST", "/api/v1/tokens", {"userId": 1}),
        ("POST", "/api/v1/users/1/password", "Taken-over-1"),
        ("GET", "/api/v1/master/config", None),
        ("GET", "/api/v1/shells", None),
    ],
)
async def test_the_token_of_a_task_is_no_login(
    world: World, method: str, path: str, body: Any
) -> None:
    names = await scene.submitted(world)
    task = await as_task(world, names["allocation_id"])
    for headers in ({}, {"cookie": f"auth={task.token}", "origin": "http://master"}):
        client = Client(task.app, "" if headers else task.token)
        answer = await client(method, path, body, headers=headers)
        assert answer.status in (401, 403), (headers, answer.body)


async def test_a_login_is_no_token_of_a_task(world: World) -> None:
    """It is that of its user, wherever it is sent: it speaks for no task of others."""
    await scene.running(world)
    names, user = world.names, await login_of(world)
    header = {"grpc-metadata-x-allocation-token": f"Bearer {user.token}"}
    path = f"/api/v1/allocations/{names['allocation_id']}/signals/pending_preemption"
    answer = await Client(user.app)("POST", path, {}, headers=header)
    assert answer.status in (401, 403, 404)
    signal = f"/api/v1/allocations/{names['allocation_id']}/signals/preemption"
    assert (await world.clients["admin"]("GET", signal)).json() == {"preempt": False}


async def test_the_tokens_of_a_task_end_with_it(world: World) -> None:
    await scene.running(world)
    clients = [f(world, world.names["allocation_id"]) for f in (as_task, as_code_of)]
    task, code = [await client for client in clients]
    await scene.container(world, world.names, "TERMINATED", exit_code=0)

    async def statuses() -> list[int]:
        return [(await client("GET", "/api/v1/me")).status for client in (task, code)]

    await scene.until_true(statuses, lambda found: found == [401, 401], [])


@pytest.mark.parametrize("kind", ["notebook", "shell"])
async def test_no_list_and_no_page_shows_the_key_of_anothers_task(world: World, kind: str) -> None:
    admin, user = world.clients["admin"], world.clients["user"]
    made = (
        await admin("POST", f"/api/v1/{kind}s", {"config": {"resources": {"slots": 0}}})
    ).json()
    task_id = made[kind]["id"]
    own = (await admin("GET", f"/api/v1/{kind}s/{task_id}")).json()[kind]
    key = own["privateKey"] if kind == "shell" else own["serviceAddress"].partition("token=")[2]
    assert key
    places = (f"/api/v1/{kind}s", f"/api/v1/{kind}s/{task_id}", f"/api/v1/tasks/{task_id}",
              "/api/v1/tasks", f"/api/v1/tasks/{task_id}/config",
              "/api/v1/job-queues-v2?resourcePool=default")  # fmt: skip
    secret = json.dumps(key)[1:-1]
    for path in places:
        assert secret not in (await user("GET", path)).body.decode(), path
    for body in ({"priority": 40}, {}):
        word = "set_priority" if body else "kill"
        answer = await user("POST", f"/api/v1/{kind}s/{task_id}/{word}", body)
        assert secret not in answer.body.decode()


async def test_access_tokens_end_with_the_password_that_they_were_made_under(
    world: World,
) -> None:
    admin, user = world.clients["admin"], await login_of(world)
    made = (await admin("POST", "/api/v1/tokens", {"userId": 2, "lifespan": "1h"})).json()
    token = Client(admin.app, made["token"])
    assert (await token("GET", "/api/v1/me")).status == 200
    for path, body in (
        ("/api/v1/users/2/password", "Taken-over-1"),
        ("/api/v1/users/2", {"password": "Taken-over-1"}),
    ):
        method = "PATCH" if path.endswith("/2") else "POST"
        stolen = await token(method, path, body)
        assert stolen.status == 403, "it is no proof of the password"
    assert (await user("POST", "/api/v1/users/2/password", PASSWORD)).status == 200
    assert (await token("GET", "/api/v1/me")).status == 401
    world.clients["user"].token = (await login_of(world)).token


REPORTS = [
    ("GET", "signals/preemption?timeoutSeconds=0", None),
    ("POST", "signals/pending_preemption", {}),
    ("POST", "signals/ack_preemption", {}),
    ("POST", "ready", {}),
    ("POST", "waiting", {}),
    ("POST", "resources/{container_id}/daemon", {}),
    ("GET", "resources/{container_id}/rendezvous", None),
    ("POST", "all_gather", {"requestUuid": str(uuid4()), "numPeers": 1, "data": {"rank": 0}}),
    ("POST", "acceleratorData", {"acceleratorData": {"containerId": "c", "nodeName": "n"}}),
]


@pytest.mark.parametrize(("method", "path", "body"), REPORTS, ids=[r[1] for r in REPORTS])
async def test_nobody_reports_for_anothers_allocation(
    world: World, method: str, path: str, body: Any
) -> None:
    await scene.running(world)
    target = f"/api/v1/allocations/{world.names['allocation_id']}/{path}"
    target = target.format(container_id=world.names["container_id"])
    refused = await world.clients["user"](method, target, body)
    assert refused.status == 403, refused.text
    assert "another user's task" in refused.text
    for name in ("task", "admin"):
        assert (await world.clients[name](method, target, body)).status == 200, name


async def test_nobody_keeps_anothers_notebook_from_being_idle(world: World) -> None:
    admin, user = world.clients["admin"], world.clients["user"]
    body = {"config": {"resources": {"slots": 0}}}
    made = (await admin("POST", "/api/v1/notebooks", body)).json()["notebook"]
    path = f"/api/v1/notebooks/{made['id']}/report_idle"
    assert (await user("PUT", path, {"idle": False})).status == 403
    assert (await admin("PUT", path, {"idle": False})).status == 200


async def test_nobody_with_a_role_reports_for_anothers_allocation(hidden: World) -> None:
    workspace = int(hidden.names["workspace"])
    await scene.running(hidden)
    experiment = f"/api/v1/experiments/{hidden.names['experiment_id']}"
    move = {"destinationProjectId": int(hidden.names["project"])}
    await ok(hidden.clients["admin"], "POST", f"{experiment}/move", move)
    await give(hidden, EDITOR, workspace)
    path = f"/api/v1/allocations/{hidden.names['allocation_id']}/signals/pending_preemption"
    refused = await hidden.clients["user"]("POST", path, {})
    assert refused.status == 403, refused.text
    await take(hidden, EDITOR, workspace)


async def test_code_in_an_admins_task_reports_for_no_task_of_others(world: World) -> None:
    body = {"config": scene.CONFIG, "modelDefinition": [scene.FILE], "activate": True}
    made = await world.clients["user"]("POST", "/api/v1/experiments", body)
    number = made.json()["experiment"]["id"]
    path = f"/api/v1/experiments/{number}/trials"
    [trial] = await scene.until(world.clients["admin"], path, lambda got: got["trials"])
    path = f"/api/v1/tasks/{trial['taskId']}"
    [run] = await scene.until(world.clients["admin"], path, lambda got: got["task"]["allocations"])
    code = await as_code_of(world, (await scene.submitted(world))["allocation_id"])
    path = f"/api/v1/allocations/{run['allocationId']}/signals/pending_preemption"
    assert (await code("POST", path, {})).status == 403


async def test_an_editor_continues_anothers_experiment_only_as_it_is(hidden: World) -> None:
    workspace = int(hidden.names["workspace"])
    user, number = hidden.clients["user"], int(hidden.shared["finished"]["experiment_id"])
    await give(hidden, EDITOR, workspace)
    for override in ("entrypoint: [sh, -c, id]\n", "environment: {image: x/y}\n",
                     "bind_mounts: [{host_path: /etc, container_path: /x}]\n"):  # fmt: skip
        body = {"id": number, "overrideConfig": override}
        refused = await user("POST", "/api/v1/experiments/continue", body)
        assert refused.status == 403, refused.text
    await take(hidden, EDITOR, workspace)


async def board_of(world: World, name: str, number: int) -> str:
    """The order to start a TensorBoard of an experiment by a user."""
    body = {"experimentIds": [number], "config": {"resources": {"slots": 0}}}
    answer = await world.clients[name]("POST", "/api/v1/tensorboards", body)
    assert answer.status == 200, answer.text
    return json.dumps(answer.json()["config"])


async def test_a_tensorboard_runs_in_no_image_of_others_with_no_secret_of_theirs(
    world: World,
) -> None:
    body = {
        "config": scene.CONFIG + WITH_IMAGE,
        "modelDefinition": [scene.FILE],
        "activate": False,
    }
    made = await world.clients["admin"]("POST", "/api/v1/experiments", body)
    number = made.json()["experiment"]["id"]
    foreign = await board_of(world, "user", number)
    for secret in ("ann/own:1", "hush-hush", '"ann"', "anns"):
        assert secret not in foreign
    own = await board_of(world, "admin", number)
    assert "ann/own:1" in own
    assert "anns" in own
