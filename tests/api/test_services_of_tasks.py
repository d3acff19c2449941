"""Notebooks, shells and TensorBoards over the API: what only they have."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from tests.api import cases_experiments as scene
from tests.api.cases_interactive import launched
from tests.api.client import Client
from tests.api.master import snapshot
from tests.api.samples import World
from tests.api.scenes import trials_of
from tests.api.shared_world import shared_world
from tests.api.test_interactive_tasks import get, reaches
from tests.covers import covers

from determined_master import clock, entropy
from determined_master.aggregates.allocations import ALLOCATION
from determined_master.domain.allocation import messages as alloc
from determined_master.services.access.passwords import Passwords
from determined_master.services.access.users import Users
from determined_master.services.cluster.agents import Agents
from determined_master.services.tasks.idle_tasks import IdleTasks
from determined_master.services.tasks.interactive_tasks import InteractiveTasks
from determined_master.store.db import Address

PORTS = {"notebook": (2900, 3199), "shell": (3200, 3499), "tensorboard": (2600, 2899)}


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def world(postgres: Address, passwords: Passwords) -> AsyncIterator[World]:
    async with shared_world(postgres, passwords) as made:
        yield made


@pytest.fixture
def client(world: World) -> Client:
    return world.clients["admin"]


async def serve(world: World, task_id: str) -> None:
    """Its container runs, and its port is reached at the same number on the host."""
    names = {"allocation_id": f"{task_id}.1", "container_id": str(entropy.new_uuid())}
    path = f"/api/v1/tasks/{task_id}"
    await scene.until(world.clients["admin"], path, lambda got: got["task"]["allocations"])
    placed = (alloc.Placed(names["container_id"], "a1", ()),)
    await scene.post(world, names, alloc.Assigned(placed))
    state = await world.engine.read(ALLOCATION, f"{task_id}.1")
    event = alloc.ContainerChanged(
        container_id=names["container_id"],
        state="RUNNING",
        host_ip="127.0.0.1",
        ports=tuple((p.port, p.port) for p in state.request.proxy_ports),
        agent_id="a1",
    )
    await scene.post(world, names, event)


async def spec_of(world: World, task_id: str) -> Any:
    """What its container is started with."""
    found: list[Any] = []

    async def orders() -> list[Any]:
        return [o.spec for o in world.orders() if o.spec.task_id == task_id]

    await scene.until_true(orders, bool, found)
    return found[0]


async def submitted(client: Client, environment: str = "", storage: str = "/tmp/storage") -> int:
    config = (
        "{name: e, entrypoint: x, searcher: {name: single, metric: loss}, "
        f"environment: {{{environment}}}, resources: {{slots_per_trial: 0}}, "
        f"checkpoint_storage: {{type: shared_fs, host_path: {storage}}}}}"
    )
    answer = await client("POST", "/api/v1/experiments", {"config": config, "activate": True})
    assert answer.status == 200, answer.body
    return int(answer.json()["experiment"]["id"])


async def tensorboard(client: Client, **body: Any) -> Any:
    answer = await client("POST", "/api/v1/tensorboards", body)
    assert answer.status == 200, answer.body
    return answer.json()


@covers("experiment-config 22.notebook")
async def test_a_notebook_is_served_at_an_address_with_its_own_token(
    world: World, client: Client
) -> None:
    task = await launched(world, "notebook", config={"resources": {"slots": 0}})
    address, _, token = task["serviceAddress"].partition("?token=")
    assert (address, len(token)) == (f"/proxy/{task['id']}/", 43)
    assert (await get(client, task["id"], "notebook"))["serviceAddress"] == task["serviceAddress"]
    await serve(world, task["id"])
    spec = await spec_of(world, task["id"])
    assert spec.environment["DET_NOTEBOOK_TOKEN"] == token
    assert b"BEGIN CERTIFICATE" in b"".join(f.content for f in spec.files)
    [port] = (await world.engine.read(ALLOCATION, f"{task['id']}.1")).request.proxy_ports
    assert (port.is_tls, port.is_default, port.is_tcp) == (True, True, False)


@pytest.mark.parametrize("kind", ["notebook", "shell"])
async def test_a_server_listens_at_a_port_of_its_kind_that_no_other_has(
    world: World, client: Client, kind: str
) -> None:
    low, high = PORTS[kind]
    async with world.services[Users]._db.acquire() as conn:
        taken = await launched(world, kind, config={"resources": {"slots": 0}})
        used = "UPDATE interactive_tasks SET port = $2 WHERE task_id = $1"
        await conn.execute(used, taken["id"], low)
        ports = []
        for _ in range(3):
            task = await launched(world, kind, config={"resources": {"slots": 0}})
            find = "SELECT port FROM interactive_tasks WHERE task_id = $1"
            ports.append(await conn.fetchval(find, task["id"]))
    assert len({low, *ports}) == 4
    assert all(low < port < high for port in ports)


async def test_a_preview_shows_the_configuration_and_starts_nothing(client: Client) -> None:
    before = (await client("GET", "/api/v1/notebooks")).json()["pagination"]["total"]
    answer = await client("POST", "/api/v1/notebooks", {"preview": True, "config": {}})
    assert answer.json()["notebook"]["id"] == ""
    assert answer.json()["config"]["resources"]["slots"] == 1
    assert answer.json()["config"]["entrypoint"] is None
    after = (await client("GET", "/api/v1/notebooks")).json()["pagination"]["total"]
    assert after == before


@covers("experiment-config 22.shell")
async def test_a_shell_comes_with_its_keys_its_user_and_its_address(
    world: World, client: Client
) -> None:
    body = {
        "agentUserGroup": {"agentUid": 7, "agentUser": "ann", "agentGid": 8, "agentGroup": "g"}
    }
    assert (await client("PATCH", "/api/v1/users/1", body)).status == 200
    task = await launched(world, "shell", config={"resources": {"slots": 0}})
    assert task["privateKey"].startswith("-----BEGIN OPENSSH PRIVATE KEY-----")
    assert task["publicKey"].startswith("ssh-ed25519 ")
    assert task["agentUserGroup"] == {
        "id": 0, "user_id": 1, "user": "ann", "uid": 7, "group": "g", "gid": 8}  # fmt: skip
    assert task["addresses"] == []
    await serve(world, task["id"])
    shell = await get(client, task["id"], "shell")
    assert (shell["privateKey"], shell["publicKey"]) == (task["privateKey"], task["publicKey"])
    [address] = shell["addresses"]
    assert address["host_ip"] == "127.0.0.1"
    assert 3200 <= address["container_port"] == address["host_port"] < 3499
    spec = await spec_of(world, task["id"])
    assert task["publicKey"].encode() in b"".join(f.content for f in spec.files)
    assert spec.user.user == "ann"
    [port] = (await world.engine.read(ALLOCATION, f"{task['id']}.1")).request.proxy_ports
    assert (port.is_tcp, port.admits_readers, port.is_default) == (True, True, True)
    assert not port.is_unauthenticated


async def test_a_shell_on_an_agent_without_rights_has_the_agents_user_from_its_launch_on(
    world: World, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.forget_users()
    monkeypatch.setattr(world.services[Agents]._backend, "account", "ada")
    task = await launched(world, "shell", config={"resources": {"slots": 0}})
    assert task["agentUserGroup"]["user"] == "ada"
    await serve(world, task["id"])
    assert (await get(client, task["id"], "shell"))["agentUserGroup"]["user"] == "ada"


async def test_a_shell_may_become_anybodys_where_the_agents_of_its_pool_differ(
    world: World, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.forget_users()
    backend = world.services[Agents]._backend
    monkeypatch.setattr(backend, "account", "ada")
    monkeypatch.setattr(backend, "others", [snapshot("a2", account="bob")])
    task = await launched(world, "shell", config={"resources": {"slots": 0}})
    assert task["agentUserGroup"]["user"] == "root"
    monkeypatch.setattr(backend, "others", [snapshot("a2", account="bob", pool="elsewhere")])
    assert (await get(client, task["id"], "shell"))["agentUserGroup"]["user"] == "ada"


async def test_each_shell_has_keys_of_its_own_and_no_list_shows_them(
    world: World, client: Client
) -> None:
    keys = {(await launched(world, "shell"))["privateKey"] for _ in range(2)}
    assert len(keys) == 2
    listed = (await client("GET", "/api/v1/shells")).json()["shells"]
    assert {shell["privateKey"] for shell in listed} == {""}


@covers("helm-and-kubernetes 10.tensorboard")
@covers("experiment-config 22.tensorboard")
async def test_a_tensorboard_shows_experiments_and_trials_in_the_newest_ones_image(
    world: World, client: Client
) -> None:
    old = await submitted(client, "image: old:1, environment_variables: [A=1, B=1]")
    new = await submitted(
        client,
        "image: new:1, environment_variables: [A=2], "
        "registry_auth: {username: u, password: p}, "
        "pod_spec: {kind: Pod, spec: {imagePullSecrets: [{name: pull}]}}",
    )
    [trial] = await trials_of(world, old)
    answer = await tensorboard(
        client,
        experimentIds=[new, old],
        trialIds=[trial["id"]],
        config={"resources": {"slots": 4}},
    )
    task, config = answer["tensorboard"], answer["config"]
    assert (task["experimentIds"], task["trialIds"]) == ([old, new], [trial["id"]])
    assert task["serviceAddress"] == f"/proxy/{task['id']}/"
    assert config["environment"]["image"]["cpu"] == "new:1"
    assert config["environment"]["registry_auth"]["username"] == "u"
    assert config["environment"]["pod_spec"] == {"spec": {"imagePullSecrets": [{"name": "pull"}]}}
    assert (config["resources"]["slots"], config["idle_timeout"]) == (0, "5m0s")
    await serve(world, task["id"])
    spec = await spec_of(world, task["id"])
    assert (spec.environment["A"], spec.environment["B"]) == ("2", "1")
    assert [(m.host_path, m.read_only) for m in spec.mounts] == [("/tmp/storage", True)]
    [file] = [f for f in spec.files if f.path.endswith("sources.json")]
    shown = msgspec.json.decode(file.content)
    assert [(s["experiment"], s["trial"]) for s in shown] == [
        (old, None), (old, trial["id"]), (new, None)]  # fmt: skip
    [port] = (await world.engine.read(ALLOCATION, f"{task['id']}.1")).request.proxy_ports
    assert (port.is_default, port.is_tls, port.is_unauthenticated) == (True, False, False)
    assert 2600 <= port.port < 2899


async def test_a_tensorboard_in_an_image_of_its_users_takes_no_credentials(
    world: World, client: Client
) -> None:
    one = await submitted(client, "image: new:1, registry_auth: {username: u, password: p}")
    own = {"environment": {"image": "mine:1"}}
    answer = await tensorboard(client, experimentIds=[one], config=own)
    assert answer["config"]["environment"]["image"]["cpu"] == "mine:1"
    assert "registry_auth" not in answer["config"]["environment"]


async def test_a_tensorboard_shows_what_filters_match(world: World, client: Client) -> None:
    first, one, two = [await submitted(client) for _ in range(3)]
    others = list(range(1, first + 1))
    answer = await tensorboard(client, filters={"projectId": 1, "excludedExperimentIds": others})
    assert answer["tensorboard"]["experimentIds"] == [one, two]
    nothing = await client("POST", "/api/v1/tensorboards", {"filters": {"name": "none such"}})
    assert (nothing.status, "match no experiment" in nothing.text) == (400, True)


async def test_a_tensorboard_needs_something_that_is_there(world: World, client: Client) -> None:
    for body, status, said in (
        ({}, 400, "must set experiment, trial ids, or filters"),
        ({"experimentIds": [999]}, 404, "experiment '999' not found"),
        ({"trialIds": [998]}, 404, "trial '998' not found"),
    ):
        answer = await client("POST", "/api/v1/tensorboards", body)
        assert (answer.status, answer.text) == (status, said)


class Requests:
    """What the proxy knows of services, as a test says."""

    def __init__(self) -> None:
        self.registered: set[str] = set()
        self.last: dict[str, Any] = {}

    def is_registered(self, task_id: str) -> bool:
        return task_id in self.registered

    def last_request_at(self, task_id: str) -> Any:
        return self.last.get(task_id)


@pytest.fixture
def requests() -> Requests:
    return Requests()


@pytest.fixture
def idle(world: World, requests: Requests) -> IdleTasks:
    services = world.services
    known: Any = requests
    return IdleTasks(services[Users]._db, services[InteractiveTasks], known)


@covers("experiment-config 22.limits")
async def test_an_unused_task_is_ended_with_its_idle_time(
    world: World, client: Client, idle: IdleTasks, requests: Requests, monkeypatch: Any
) -> None:
    config = {"resources": {"slots": 0}, "idle_timeout": "10s"}
    task_id = (await launched(world, "notebook", config=config))["id"]
    other = (await launched(world, "shell", config=config))["id"]
    begin, now = clock.now(), [clock.now()]
    monkeypatch.setattr(clock, "now", lambda: now[0])

    async def ended_at(seconds: float) -> list[str]:
        now[0] = begin + timedelta(seconds=seconds)
        return await idle.end_idle()

    assert await ended_at(100) == []  # nobody can reach it yet
    requests.registered = {task_id, other}
    assert await ended_at(101) == []
    assert await ended_at(111) == []
    requests.last[task_id] = begin + timedelta(seconds=110)
    assert await ended_at(119) == []
    now[0] = begin + timedelta(seconds=120)
    told = {"notebookId": task_id, "idle": False}
    path = f"/api/v1/notebooks/{task_id}/report_idle"
    assert (await client("PUT", path, told)).json() == {}
    assert await ended_at(129) == []
    now[0] = begin + timedelta(seconds=130)
    assert (await client("PUT", path, {**told, "idle": True})).json() == {}
    assert await ended_at(131) == [task_id]
    assert await ended_at(132) == []
    over = await reaches(client, task_id, "TERMINATED", "notebook")
    assert "idle for 11s, idle_timeout is 10s" in over["exitStatus"]
    assert (await get(client, other, "shell"))["state"] == "STATE_QUEUED"


async def test_a_set_clock_and_another_master_end_nobodys_work(
    world: World, idle: IdleTasks, requests: Requests, monkeypatch: Any
) -> None:
    config = {"resources": {"slots": 0}, "idle_timeout": "10s"}
    task_id = (await launched(world, "notebook", config=config))["id"]
    begin, now = clock.now(), [clock.now()]
    monkeypatch.setattr(clock, "now", lambda: now[0])
    requests.registered = {task_id}
    assert await idle.end_idle() == []
    now[0] = begin + timedelta(hours=1)
    idle.begin_again()
    assert await idle.end_idle() == []
    other: Any = requests
    fresh = IdleTasks(world.services[Users]._db, world.services[InteractiveTasks], other)
    now[0] = begin + timedelta(hours=2)
    assert await fresh.end_idle() == []


async def test_only_its_own_token_reports_a_notebooks_use(world: World, client: Client) -> None:
    notebooks = [
        (await launched(world, "notebook", config={"resources": {"slots": 0}}))["id"]
        for _ in range(2)
    ]
    for task_id in notebooks:
        await serve(world, task_id)
    token = (await spec_of(world, notebooks[0])).environment["DET_SESSION_TOKEN"]
    task = Client(client.app, token)
    for task_id, status in zip(notebooks, (200, 404), strict=True):
        body = {"notebookId": task_id, "idle": False}
        answer = await task("PUT", f"/api/v1/notebooks/{task_id}/report_idle", body)
        assert answer.status == status, answer.body
    assert (await task("GET", f"/api/v1/notebooks/{notebooks[0]}")).status in (401, 403)
