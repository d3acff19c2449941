"""Missing directories of storages, as a daemon reports them; `test_docker.py` has a real one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, cast

import pytest
from tests.agent_link import spec

from determined_agent.container.environment import ContainerStart, MasterIdentity
from determined_agent.runtimes.docker.api import DockerApi, DockerApiError, Request
from determined_agent.runtimes.docker.launch import Launcher
from determined_agent.settings.options import Settings
from determined_wire.agent_link import Mount, TaskUser

DOCKER = 'invalid mount config for type "bind": bind source path does not exist: {}'
PODMAN = "container create: statfs {}: no such file or directory"


class Daemon:
    """Refuses to create containers with a directory that it lacks."""

    address = "a daemon"

    def __init__(self, text: str, status: int) -> None:
        self.text, self.status = text, status
        self.created: list[dict[str, Any]] = []

    async def call(self, request: Request) -> dict[str, Any]:
        body = cast(dict[str, Any], request.body)
        missing = _missing(body)
        if missing:
            raise DockerApiError(self.status, self.text.format(missing[0]))
        self.created.append(body)
        return {"Id": "made"}


def _missing(body: dict[str, Any]) -> list[str]:
    sources = [mount["Source"] for mount in body["HostConfig"]["Mounts"]]
    return [source for source in sources if not Path(source).exists()]


@pytest.fixture(params=[(DOCKER, 400), (PODMAN, 500)], ids=["docker", "podman"])
def daemon(request: pytest.FixtureRequest) -> Daemon:
    return Daemon(*request.param)


async def create(daemon: Daemon, root: Path, mount: Mount, **more: Any) -> str:
    launcher = Launcher(cast(DockerApi, daemon), Settings(master_host="h"), root)
    start = ContainerStart(
        container_id="c",
        devices=(),
        spec=spec("pass", image="i", mounts=(mount,), **more),
        master=MasterIdentity(),
    )
    return await launcher._create(start)


async def test_a_missing_storage_is_named_with_its_remedy_and_not_created(
    daemon: Daemon, tmp_path: Path
) -> None:
    mount = Mount(str(tmp_path / "typo"), "/determined_shared_fs", if_missing="fail")
    with pytest.raises(ValueError, match=f"host_path {tmp_path}/typo is not a directory") as error:
        await create(daemon, tmp_path, mount)
    assert "set checkpoint_storage.create to true" in str(error.value)
    assert not (tmp_path / "typo").exists()


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> int:
    """That of an agent that is not root."""
    uid = os.getuid() or 54321
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    return uid


@pytest.mark.parametrize("is_root", [True, False])
async def test_an_agent_of_a_user_creates_the_storage_of_its_own_tasks_and_of_roots(
    daemon: Daemon, tmp_path: Path, account: int, is_root: bool
) -> None:
    mount = Mount(str(tmp_path / "new" / "storage"), "/determined_shared_fs", if_missing="create")
    user = TaskUser("root", 0, "root", 0) if is_root else TaskUser("u", account, "u", os.getgid())
    assert await create(daemon, tmp_path, mount, user=user) == "made"


async def test_a_storage_that_an_agent_of_a_user_cannot_create_is_named_with_the_remedy(
    daemon: Daemon, tmp_path: Path, account: int
) -> None:
    mount = Mount(str(tmp_path / "new"), "/determined_shared_fs", if_missing="create")
    other = TaskUser("other", account + 1, "other", account + 1)
    with pytest.raises(ValueError, match="create the directory for the task's account"):
        await create(daemon, tmp_path, mount, user=other)
    assert not (tmp_path / "new").exists()


async def test_an_optional_storage_is_left_out(daemon: Daemon, tmp_path: Path) -> None:
    mount = Mount(str(tmp_path / "typo"), "/determined_shared_fs", if_missing="skip")
    assert await create(daemon, tmp_path, mount) == "made"
    [body] = daemon.created
    assert "/determined_shared_fs" not in {m["Target"] for m in body["HostConfig"]["Mounts"]}


async def test_another_missing_directory_is_the_daemons_own_error(
    daemon: Daemon, tmp_path: Path
) -> None:
    with pytest.raises(DockerApiError, match="typo"):
        await create(daemon, tmp_path, Mount(str(tmp_path / "typo"), "/data"))


@pytest.mark.parametrize("if_missing", ["create", "fail"])
async def test_a_storage_that_is_there_is_mounted(
    daemon: Daemon, tmp_path: Path, if_missing: Any
) -> None:
    (tmp_path / "storage").mkdir()
    mount = Mount(str(tmp_path / "storage"), "/determined_shared_fs", if_missing=if_missing)
    await create(daemon, tmp_path, mount)
    [body] = daemon.created
    assert "/determined_shared_fs" in {m["Target"] for m in body["HostConfig"]["Mounts"]}
