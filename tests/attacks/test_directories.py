"""Findings 3 and 5: the master reads directories that are no storage."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest
from tests.api.client import Client
from tests.api.samples import World
from tests.api.test_downloads import registered

from determined_master import entropy
from determined_master.domain.checkpoints.access import StorageAccess
from determined_master.domain.errors import FailedPrecondition
from determined_master.services.archives import pieces_of
from determined_master.services.checkpoints.directories import StorageTree
from determined_master.services.checkpoints.files import CheckpointFiles
from determined_wire.agent_link import NO_STORAGE_MARK

pytestmark = pytest.mark.slow
MODULE = pytest.mark.asyncio(loop_scope="module")
SECRET = b"the token of another tenant"


@pytest.fixture
def admin(world: World) -> Client:
    return world.clients["admin"]


@pytest.fixture
def files(world: World) -> CheckpointFiles:
    return world.services[CheckpointFiles]


def shared(root: Path, inner: str | None = None) -> dict[str, Any]:
    storage = {"type": "shared_fs", "host_path": str(root)}
    return storage if inner is None else {**storage, "storage_path": inner}


async def refused(client: Client, uuid: str, why: str) -> None:
    for path in (f"/checkpoints/{uuid}", f"/checkpoints/{uuid}/manifest"):
        answer = await client("GET", path)
        assert answer.status in (400, 404), answer.body
        assert SECRET not in answer.body
    assert why in (await client("GET", f"/checkpoints/{uuid}")).text


@MODULE
async def test_the_running_task_of_another_is_no_checkpoint(admin: Client, tmp_path: Path) -> None:
    agent = tmp_path / "agent"
    agent.mkdir()
    (agent / NO_STORAGE_MARK).touch()
    for storage in (shared(agent), shared(tmp_path, "agent"), shared(tmp_path)):
        uuid = await registered(admin, storage)
        base = tmp_path / "agent" if storage != shared(tmp_path) else tmp_path
        (base / uuid).mkdir(exist_ok=True)
        (base / uuid / "environ").write_bytes(SECRET)
        if base == tmp_path:
            assert (await admin("GET", f"/checkpoints/{uuid}")).status == 200
        else:
            await refused(admin, uuid, "holds data of an agent")


@MODULE
async def test_a_link_in_a_storage_path_does_not_lead_out(admin: Client, tmp_path: Path) -> None:
    (tmp_path / "storage").mkdir()
    (tmp_path / "private").mkdir()
    (tmp_path / "storage" / "inner").symlink_to(tmp_path / "private")
    uuid = await registered(admin, shared(tmp_path / "storage", "inner"))
    (tmp_path / "private" / uuid).mkdir()
    (tmp_path / "private" / uuid / "key").write_bytes(SECRET)
    (tmp_path / "private" / f"{uuid}.manifest.json").write_bytes(SECRET)
    await refused(admin, uuid, "links lead out of the storage")


@MODULE
async def test_a_storage_outside_of_the_allowed_directories_is_not_read(
    admin: Client, tmp_path: Path, files: CheckpointFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_access", StorageAccess(allowed_host_paths=[f"{tmp_path}/ours"]))
    uuid = await registered(admin, shared(tmp_path / "theirs"))
    (tmp_path / "theirs" / uuid).mkdir(parents=True)
    await refused(admin, uuid, "allowed_host_paths")
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours" / "link").symlink_to(tmp_path / "theirs")
    linked = await registered(admin, shared(tmp_path / "ours" / "link"))
    (tmp_path / "theirs" / linked).mkdir()
    await refused(admin, linked, "which is not below a directory")
    ours = await registered(admin, shared(tmp_path / "ours" / "team"))
    (tmp_path / "ours" / "team" / ours).mkdir(parents=True)
    assert (await admin("GET", f"/checkpoints/{ours}")).status == 200


@MODULE
async def test_a_storage_that_an_older_release_stored_leads_nowhere(
    admin: Client, tmp_path: Path, files: CheckpointFiles
) -> None:
    uuid = await registered(admin, shared(tmp_path / "storage"))
    (tmp_path / uuid).mkdir()
    (tmp_path / uuid / "key").write_bytes(SECRET)
    for storage in (
        shared(tmp_path / "storage", ".."),
        {"type": "shared_fs", "host_path": 5},
        {"type": "directory", "container_path": None},
        {"type": "directory", "container_path": "relative"},
        {"type": "shared_fs"},
    ):
        async with files._db.acquire() as conn:
            await conn.execute(
                "UPDATE storage_backends SET config = $1 WHERE id ="
                " (SELECT storage_id FROM checkpoints WHERE uuid = $2)",
                storage,
                uuid,
            )
        await refused(admin, uuid, "storage of checkpoint")


def test_a_directory_that_becomes_a_link_while_it_streams_is_not_followed(tmp_path: Path) -> None:
    inner = tmp_path / "storage" / "c" / "inner"
    inner.mkdir(parents=True)
    (inner / "key").write_bytes(bytes(len(SECRET)))
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "key").write_bytes(SECRET)
    tree = StorageTree.below(str(tmp_path / "storage"), str(tmp_path / "storage" / "c"))
    assert tree is not None
    pieces = pieces_of(tree.members(), "tar", tree.content)
    found = next(pieces)
    inner.rename(tmp_path / "storage" / "c" / "moved")
    inner.symlink_to(tmp_path / "private")
    rest: list[bytes] = []
    with pytest.raises(OSError, match=r"Not a directory|Too many levels"):
        rest.extend(pieces)
    assert SECRET not in found + b"".join(rest)


def test_a_root_that_becomes_a_link_is_not_followed(tmp_path: Path) -> None:
    root = tmp_path / "users" / "storage"
    (root / "c").mkdir(parents=True)
    (root / "c" / "key").write_bytes(bytes(len(SECRET)))
    tree = StorageTree.below(str(root), str(root / "c"))
    assert tree is not None
    members = tree.members()
    (tmp_path / "private" / "storage" / "c").mkdir(parents=True)
    (tmp_path / "private" / "storage" / "c" / "key").write_bytes(SECRET)
    (tmp_path / "users").rename(tmp_path / "old")
    (tmp_path / "users").symlink_to(tmp_path / "private")
    with pytest.raises(OSError, match=r"Not a directory|Too many levels"):
        list(tree.content(members[0]))


def test_a_pipe_and_a_socket_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    os.mkfifo(tmp_path / "c" / "pipe")
    (tmp_path / "c" / "file").write_text("here")
    tree = StorageTree.below(str(tmp_path), str(tmp_path / "c"))
    assert tree is not None
    archive = io.BytesIO(b"".join(pieces_of(tree.members(), "tar", tree.content)))
    with tarfile.open(fileobj=archive) as tar:
        assert tar.getnames() == ["file"]


def test_the_data_of_a_master_is_marked(tmp_path: Path) -> None:
    (tmp_path / NO_STORAGE_MARK).touch()
    (tmp_path / str(entropy.new_uuid())).mkdir()
    with pytest.raises(FailedPrecondition, match="no checkpoint storage"):
        StorageTree.below(str(tmp_path), str(tmp_path))
