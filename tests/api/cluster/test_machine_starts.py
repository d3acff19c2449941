"""Reports of machines on demand about their start: who may send them, and what they may hold."""

from __future__ import annotations

import asyncio
import io
import subprocess
import sys
import tarfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests import wheelhouses
from tests.api.client import Answer, Client
from tests.api.cluster.test_pool_machines import POOLS, TYPES
from tests.api.master import PASSWORD, SETTINGS, running_services
from tests.contracts.fake_machines import FakeCloud, FakeMachines
from tests.domain.builders import T0

from determined_master.api.app import Api
from determined_master.api.table import all_routes
from determined_master.composition.machine_providers import MACHINE_PROVIDERS
from determined_master.domain.errors import Unavailable
from determined_master.domain.machines.scaling import Machine
from determined_master.domain.machines.starts import MachineStart
from determined_master.ports.machines import MachineSite
from determined_master.services.access.auth import Auth
from determined_master.services.access.identities import Identities
from determined_master.services.cluster.join_tokens import machine_token
from determined_master.services.containers.agent_packages import AgentPackages
from determined_master.store.cluster import machines as rows
from determined_master.store.db import Address, Database
from determined_wire import locked

REPORT = {"pool": "east", "agent_id": "i-1", "step": "image"}


class Master:
    """One with a pool of machines on demand, of which one has started."""

    def __init__(self, client: Client, db: Database, user: str, join: str) -> None:
        self._client = client
        self._db = db
        self.user, self.join = user, join

    async def report(self, token: str, **changes: Any) -> Any:
        self._client.token = token
        return await self._client("POST", "/agents/starts", {**REPORT, **changes})

    async def wheel(self, token: str) -> Answer:
        self._client.token = token
        return await self._client("GET", "/agent/wheel")

    async def packages(self, token: str) -> Answer:
        self._client.token = token
        return await self._client("GET", "/agent/packages")

    async def starts(self) -> dict[str, MachineStart]:
        async with self._db.acquire() as conn:
            return await rows.list_starts(conn, "east")


@pytest.fixture
async def master(
    database: Address, pool: Database, passwords: Any, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Master]:
    def make(settings: Any, site: MachineSite) -> FakeMachines:
        return FakeMachines(FakeCloud(), site.pool, TYPES[site.pool])

    for name in ("aws", "gcp"):
        monkeypatch.setitem(MACHINE_PROVIDERS, name, make)
    settings = replace(SETTINGS, resource_pools=POOLS)
    async with running_services(database, pool, passwords, settings) as (services, _):
        api = Api(all_routes(), services, services[Identities])
        opened = await services[Auth].login("determined", PASSWORD, is_hashed=False)
        machine = Machine(id="m-1", agent_name="i-1", state="starting", launched_at=T0)
        async with pool.acquire() as conn:
            await rows.upsert_stays(conn, "east", [machine], 8, T0)
        secret = await pool.fetchval("SELECT secret FROM cluster")
        join = machine_token(secret, "east")
        yield Master(Client(api), pool, opened.token, join)
        api.close()


async def test_a_report_is_kept_with_its_machine(master: Master) -> None:
    assert (await master.report(master.join)).status == 200
    assert await master.starts() == {"m-1": MachineStart(step="image")}
    told = await master.report(master.join, failed=True, detail="no\nsuch \x00 image\x1b[1m ")
    assert told.status == 200
    kept = MachineStart(step="image", detail="no such   image [1m", has_failed=True)
    assert await master.starts() == {"m-1": kept}
    # A machine that starts again has not failed.
    await master.report(master.join, step="docker")
    assert await master.starts() == {"m-1": MachineStart(step="docker")}


async def test_only_who_shows_the_join_token_reports(master: Master) -> None:
    for token in ("", master.user, master.join[:-1], f"{master.join}x"):
        answer = await master.report(token, failed=True)
        assert answer.status == 401, token
    assert await master.starts() == {}


@pytest.mark.parametrize(
    "changes", [{"agent_id": "m-1"}, {"agent_id": "i-2"}, {"pool": "west"}, {"pool": "default"}]
)
async def test_a_machine_that_the_pool_has_not_is_unknown(
    master: Master, changes: dict[str, Any]
) -> None:
    answer = await master.report(master.join, **changes)
    assert answer.status == 404
    assert "not found" in answer.text
    assert await master.starts() == {}


@pytest.mark.parametrize(
    "changes",
    [
        {"step": "anything"},
        {"detail": "x" * 501},
        {"agent_id": ""},
        {"agent_id": "x" * 256},
        {"failed": "perhaps"},
        {"pool": None},
    ],
)
async def test_a_report_of_another_shape_is_refused(
    master: Master, changes: dict[str, Any]
) -> None:
    assert (await master.report(master.join, **changes)).status == 400
    assert await master.starts() == {}


async def test_the_wheel_of_the_agent_is_given_to_who_shows_the_token(
    master: Master, tmp_path: Path
) -> None:
    for token in ("", master.user):
        assert (await master.wheel(token)).status == 401
    first, second = await master.wheel(master.join), await master.wheel(master.join)
    assert (first.status, first.body) == (200, second.body)
    name = first.headers["content-disposition"].partition("filename=")[2].strip('"')
    wheel = tmp_path / name
    wheel.write_bytes(first.body)
    target = tmp_path / "installed"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    done = await asyncio.to_thread(
        subprocess.run, [*command, "--target", str(target), str(wheel)], capture_output=True
    )
    assert done.returncode == 0, done.stderr
    assert (target / "bin" / "determined-agent").is_file()
    version = await asyncio.to_thread(
        subprocess.run,
        [str(target / "bin" / "determined-agent"), "version"],
        env={"PYTHONPATH": str(target)},
        capture_output=True,
        text=True,
    )
    assert name.split("-")[1] in version.stdout, version.stderr
    assert not (target / "determined_master").exists()


async def test_without_a_wheelhouse_machines_get_an_empty_archive_of_packages(
    master: Master,
) -> None:
    for token in ("", master.user):
        assert (await master.packages(token)).status == 401
    answer = await master.packages(master.join)
    assert (answer.status, answer.headers["content-type"]) == (200, "application/x-tar")
    with tarfile.open(fileobj=io.BytesIO(answer.body)) as archive:
        assert archive.getnames() == []


async def test_the_wheels_of_the_agents_packages_are_given_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = tmp_path / "wheels"
    lock = wheelhouses.fill(house, "base", "agent", "storage", "gcp")
    monkeypatch.setattr(locked.pkgutil, "get_data", lambda *_: lock.encode())
    (house / "evil-1.0-py3-none-any.whl").write_bytes(b"no locked one")
    body = b"".join([piece async for piece in await AgentPackages(str(house)).archive()])
    with tarfile.open(fileobj=io.BytesIO(body)) as archive:
        names = archive.getnames()
        for name in names:
            member = archive.extractfile(name)
            assert member is not None
            assert member.read() == (house / name).read_bytes()
    packages = {name.partition("-")[0] for name in names}
    assert {"msgspec", "websockets", "obstore", "urllib3"} <= packages
    assert not packages & {"evil", "google_auth", "pyasn1"}


async def test_a_wheelhouse_that_lacks_a_package_is_named_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = tmp_path / "wheels"
    lock = wheelhouses.fill(house, "base", "agent", "storage")
    monkeypatch.setattr(locked.pkgutil, "get_data", lambda *_: lock.encode())
    [path] = house.glob("msgspec-*")
    path.write_bytes(b"of another build")
    with pytest.raises(Unavailable, match=r"wheels has no wheel .* msgspec==.*: run `python -m "):
        await AgentPackages(str(house)).archive()
    with pytest.raises(Unavailable, match="nowhere is not a directory"):
        await AgentPackages(str(tmp_path / "nowhere")).archive()
