"""Faults that another implementation of the same design had; each is tried here."""

from __future__ import annotations

import base64
import io
import tarfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from tests.api import cases_experiments as scene
from tests.api.checkpoints.test_gc import collections_of, content, spec_of
from tests.api.client import Client
from tests.api.hidden import EDITOR, VIEWER, give, ok, take
from tests.api.samples import World
from tests.api.scenes import run
from tests.api.several_pools import several_pools
from tests.attacks.tasks import as_code_of, as_task
from tests.attacks.test_storage_keys import checkpoint
from tests.ready_database import ready_database

from determined.common.experimental.archive import ArchiveError, extract
from determined.exec._container.context_directory import unpack
from determined.exec._log import EntryFailed
from determined_master import entropy
from determined_master.services.access.passwords import Passwords
from determined_master.services.checkpoints.gc import CheckpointGc
from determined_master.store.db import Address, open_database

PASSWORD_OF_REGISTRY = "hush-hush-registry"


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
async def test_no_reader_gets_the_password_of_a_registry(
    hidden: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`registry_auth` shown to readers, and carried in checkpoints and model versions."""
    auth = {"username": "u", "password": PASSWORD_OF_REGISTRY, "auth": PASSWORD_OF_REGISTRY}
    auth |= {"identitytoken": PASSWORD_OF_REGISTRY, "registrytoken": PASSWORD_OF_REGISTRY}
    module_config = "tests.attacks.test_storage_keys.CONFIG"
    config = {
        "name": "x",
        "entrypoint": "true",
        "searcher": {"name": "single", "metric": "loss", "max_length": {"batches": 1}},
        "environment": {"registry_auth": auth},
    }
    monkeypatch.setattr(module_config, config)
    uuid = await checkpoint(hidden)
    admin, user = hidden.clients["admin"], hidden.clients["user"]
    await ok(
        admin,
        "POST",
        "/api/v1/models",
        {"name": "registry", "workspaceId": int(hidden.names["workspace"])},
    )
    await ok(admin, "POST", "/api/v1/models/registry/versions", {"checkpointUuid": uuid})
    number = hidden.names["checked_experiment"]
    [trial] = (await ok(admin, "GET", f"/api/v1/experiments/{number}/trials"))["trials"]
    workspace = int(hidden.names["workspace"])
    for role in (VIEWER, EDITOR):
        await give(hidden, role, workspace)
        for path in (
            f"/api/v1/experiments/{number}",
            "/api/v1/experiments?limit=100",
            f"/api/v1/experiments/{number}/checkpoints",
            f"/api/v1/checkpoints/{uuid}",
            f"/api/v1/trials/{trial['id']}",
            f"/api/v1/trials/{trial['id']}/checkpoints",
            f"/api/v1/tasks/{trial['taskId']}",
            "/api/v1/models/registry",
            "/api/v1/models/registry/versions",
            "/api/v1/models/registry/versions/1",
            "/api/v1/job-queues-v2?resourcePool=default",
            f"/experiments/{number}/config",
            f"/api/ui/v1/experiments/{number}",
        ):
            answer = await user("GET", path)
            assert PASSWORD_OF_REGISTRY.encode() not in answer.body, path
            assert answer.status in (200, 404), path
            if "checkpoint" in path or "version" in path:
                assert b"********" in answer.body or path.endswith("registry"), path
        body = {"experimentIds": [int(number)], "filters": {}}
        answer = await user("POST", "/api/v1/experiments-search", body)
        assert PASSWORD_OF_REGISTRY.encode() not in answer.body
        await take(hidden, role, workspace)


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
async def test_a_reader_deletes_no_tensorboard_files(
    hidden: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned: list[Any] = []

    async def post(self: CheckpointGc, plan: Any, *rest: Any) -> list[str]:
        planned.append(plan)
        return []

    monkeypatch.setattr(CheckpointGc, "_post", post)
    path = f"/api/v1/experiments/{hidden.names['experiment_id']}/tensorboard-files"
    await give(hidden, VIEWER, int(hidden.names["workspace"]))
    assert (await hidden.clients["user"]("DELETE", path)).status == 403
    await take(hidden, VIEWER, int(hidden.names["workspace"]))
    assert (await hidden.clients["user"]("DELETE", path)).status == 404
    assert planned == []


def line(task_id: str, text: str = "forged") -> list[tuple[str, Any]]:
    entry = {"taskId": task_id, "log": f"{text}\n"}
    return [
        ("/api/v1/task/logs", {"logs": [entry]}),
        ("/task-logs", [{"task_id": task_id, "log": f"{text}\n"}]),
    ]


async def logs_of(world: World, task_id: str) -> bytes:
    answer = await world.clients["admin"]("GET", f"/api/v1/tasks/{task_id}/logs?limit=1000")
    assert answer.status == 200
    return answer.body


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
async def test_nobody_without_a_session_and_no_other_adds_lines_to_a_tasks_log(
    world: World,
) -> None:
    mine, other = await scene.submitted(world), await scene.submitted(world)
    app = world.clients["admin"].app
    strangers = {
        "nobody": Client(app),
        "a wrong token": Client(app, "v2.public.wrong"),
        "another user": world.clients["user"],
        "another task": await as_task(world, other["allocation_id"]),
    }
    for name, client in strangers.items():
        for path, body in line(mine["task_id"]):
            answer = await client("POST", path, body)
            expected = (401,) if name in ("nobody", "a wrong token") else (403, 404)
            assert answer.status in expected, (name, path, answer.body)
    assert b"forged" not in await logs_of(world, mine["task_id"])
    for client in (
        world.clients["admin"],
        await as_task(world, mine["allocation_id"]),
        await as_code_of(world, mine["allocation_id"]),
    ):
        path, body = line(mine["task_id"], "its own")[0]
        assert (await client("POST", path, body)).status == 200
    assert (await logs_of(world, mine["task_id"])).count(b"its own") >= 3


MEMBERS = [
    ("../out", {}), ("/etc/out", {}), ("a/../../out", {}), ("a/b/../../../out", {}),
    ("link", {"type": tarfile.SYMTYPE, "linkname": "/etc"}),
    ("link", {"type": tarfile.SYMTYPE, "linkname": "../.."}),
    ("link", {"type": tarfile.LNKTYPE, "linkname": "../out"}),
    ("link", {"type": tarfile.LNKTYPE, "linkname": "/etc/passwd"}),
    ("fifo", {"type": tarfile.FIFOTYPE}), ("disk", {"type": tarfile.BLKTYPE}),
    ("null", {"type": tarfile.CHRTYPE}),
]  # fmt: skip


def archive(name: str, fields: dict[str, Any], *more: tuple[str, dict[str, Any]]) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as made:
        for each, changes in ((name, fields), *more):
            member = tarfile.TarInfo(each)
            for key, value in changes.items():
                setattr(member, key, value)
            made.addfile(member, io.BytesIO())
    return raw.getvalue()


@pytest.mark.parametrize(("name", "fields"), MEMBERS)
def test_an_archive_leads_nowhere_and_makes_nothing_but_files(
    tmp_path: Path, name: str, fields: dict[str, Any]
) -> None:
    inside = tmp_path / "x" / "y" / "inside"
    inside.mkdir(parents=True)
    through = (f"{name}/through", {}) if fields else ("b", {})
    with pytest.raises(ArchiveError):
        extract([archive(name, fields, through)], inside)
    with pytest.raises(EntryFailed):
        unpack(base64.b64encode(archive(name, fields, through)).decode(), [str(inside)])
    files = [path for path in tmp_path.rglob("*") if not path.is_dir() or path.is_symlink()]
    assert all(path.is_file() and not path.is_symlink() for path in files)
    assert all(inside in path.parents for path in files)


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
async def test_a_queue_move_with_an_empty_target_changes_nothing(world: World) -> None:
    admin = world.clients["admin"]
    for _ in range(2):
        await scene.submitted(world)
    path = "/api/v1/job-queues-v2?resourcePool=default"
    before = (await ok(admin, "GET", path))["jobs"]
    job = _id(before[0])
    for update in (
        {"jobId": job, "aheadOf": ""},
        {"jobId": job, "behindOf": ""},
        {"jobId": job, "resourcePool": ""},
        {"jobId": "", "aheadOf": job},
        {"jobId": job, "aheadOf": job},
        {"jobId": job, "aheadOf": "no-such-job"},
        {"jobId": job},
        {},
    ):
        answer = await admin("POST", "/api/v1/job-queues", {"updates": [update]})
        assert 400 <= answer.status < 500, (update, answer.text)
    after = (await ok(admin, "GET", path))["jobs"]
    ids = [_id(each) for each in before]
    assert [_id(each) for each in after if _id(each) in ids] == ids


def _id(job: dict[str, Any]) -> str:
    full = job["full"] if "full" in job else job["limited"]
    return str(full["jobId"])


OWNERS = """name: gc
entrypoint: "true"
searcher: {name: single, metric: loss, max_length: {batches: 1}}
environment: {environment_variables: [A=of_owner]}
bind_mounts: [{host_path: /data, container_path: /mounted}]
checkpoint_storage: {type: directory, container_path: /mounted/here}
"""


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
async def test_files_are_deleted_as_the_owner_of_the_experiment_and_where_it_mounts_them(
    world: World,
) -> None:
    """With the mounts of an experiment, its deletion task must run as nobody else."""
    user, admin = world.clients["user"], world.clients["admin"]
    made = await ok(user, "POST", "/api/v1/experiments", {"config": OWNERS, "activate": False})
    number = made["experiment"]["id"]
    path = f"/api/v1/experiments/{number}"
    [trial] = await scene.until(admin, f"{path}/trials", lambda got: got["trials"])
    uuid = str(entropy.new_uuid())
    report = {"taskId": trial["taskId"], "uuid": uuid, "state": "STATE_COMPLETED"}
    await ok(user, "POST", "/api/v1/checkpoints", {**report, "resources": {"a": "1"}})
    world.names["experiment_id"] = str(number)
    body = {"checkpointUuids": [uuid]}
    assert (await admin("DELETE", "/api/v1/checkpoints", body)).status == 200
    [allocation_id] = await collections_of(world)
    spec = await spec_of(world, await run(world, allocation_id))
    assert spec.environment["DET_USER"] == "determined"
    assert spec.environment["A"] == "of_owner"
    assert [(m.host_path, m.container_path) for m in spec.mounts] == [("/data", "/mounted")]
    assert content(spec, "storage_config")["container_path"] == "/mounted/here"
    assert content(spec, "checkpoints_to_delete") == [uuid]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def pools(postgres: Address, passwords: Passwords) -> AsyncIterator[World]:
    async with (
        ready_database(postgres) as address,
        await open_database(address, min_size=1) as pool,
        several_pools(address, pool, passwords) as made,
    ):
        yield made


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("named", ["", ", resource_pool: side", ", resource_pool: main"])
async def test_a_policys_pool_holds_for_work_without_slots(pools: World, named: str) -> None:
    admin, user = pools.clients["admin"], pools.clients["user"]
    policy = {"configPolicies": "invariant_config: {resources: {resource_pool: lab}}"}
    await ok(admin, "PUT", "/api/v1/config-policies/global/EXPERIMENT", policy)
    resources = f"resources: {{slots_per_trial: 0{named}}}\n"
    config = f"{scene.CONFIG}{resources}"
    body = {"config": config, "modelDefinition": [scene.FILE], "activate": False}
    made = await ok(user, "POST", "/api/v1/experiments", body)
    assert made["experiment"]["resourcePool"] == "lab"
