"""Terminals of shells over WebSockets, with OpenSSH's own server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

import pytest
import pytest_asyncio
from tests.api.cases_experiments import until_true
from tests.api.client import Client
from tests.api.master import PASSWORD, OneAgent, running_services
from tests.api.proxy.proxied import Task, listening
from tests.api.terminal import (
    ACCOUNT,
    TerminalSocket,
    launch,
    run_shell,
    ssh_server,
    terminal,
)
from tests.free_ports import free_port
from tests.ready_database import ready_database

from determined_master.api.app import Api
from determined_master.api.table import all_routes
from determined_master.api.tasks import terminals
from determined_master.api.tasks.terminals import MAX_INPUT_BYTES, Close
from determined_master.domain.task.ssh_files import KeyPair
from determined_master.domain.task.terminal import TerminalSize
from determined_master.services.access.auth import Auth
from determined_master.services.access.identities import Identities
from determined_master.services.access.passwords import Passwords
from determined_master.services.catalog import Services
from determined_master.services.containers.ssh_keys import derive_key_pair
from determined_master.services.tasks import terminals as places
from determined_master.services.tasks.interactive_tasks import InteractiveTasks
from determined_master.store.db import Address, open_database

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
DEADLINE_S = 60


class Place(NamedTuple):
    services: Services
    api: Api
    owner: Client
    guest: Client

    async def shell(self) -> tuple[str, KeyPair]:
        """A shell of the owner, and its keys."""
        shell_id = await launch(self.owner)
        return shell_id, await self.services[InteractiveTasks].secrets.ssh_keys(shell_id)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def place(postgres: Address, passwords: Passwords) -> AsyncIterator[Place]:
    agent = OneAgent()
    agent.account = ACCOUNT
    async with (
        ready_database(postgres) as address,
        await open_database(address, min_size=1) as pool,
        running_services(address, pool, passwords, backend=agent) as (services, _),
    ):
        api = Api(all_routes(), services, services[Identities])
        owner, guest = [
            Client(api, (await services[Auth].login(who, PASSWORD, is_hashed=False)).token)
            for who in ("determined", "admin")
        ]
        yield Place(services, api, owner, guest)
        api.close()


@pytest_asyncio.fixture(loop_scope="module")
async def shell(place: Place, tmp_path: Path) -> AsyncIterator[Task]:
    """A shell of the owner that runs."""
    shell_id, keys = await place.shell()
    with ssh_server(keys, tmp_path) as port:
        task = run_shell(place.services, shell_id, port)
        yield task
        task.end()


async def test_a_typed_command_is_answered(place: Place, shell: Task) -> None:
    async with terminal(place.api, place.owner.token, shell.id) as socket:
        socket.type("echo sum=$((20+22)) term=$TERM\n")
        assert "sum=42" in await socket.shows("term=xterm-256color")


async def test_the_terminal_has_the_size_of_the_page(place: Place, shell: Task) -> None:
    size = TerminalSize(111, 33)
    async with terminal(place.api, place.owner.token, shell.id, size) as socket:
        socket.type("stty size\n")
        await socket.shows("33 111")
        socket.resize(TerminalSize(90, 20))
        socket.type("stty size\n")
        await socket.shows("20 90")


async def test_the_end_of_the_login_shell_is_said_with_its_status(
    place: Place, shell: Task
) -> None:
    async with terminal(place.api, place.owner.token, shell.id) as socket:
        socket.type("exit 7\n")
        assert await socket.end() == (Close.ENDED, "The shell exited with status 7.")
    async with terminal(place.api, place.owner.token, shell.id) as socket:
        socket.type("kill -9 $$\n")
        assert await socket.end() == (Close.ENDED, "The shell was ended by signal KILL.")


async def test_a_closed_page_ends_the_programs_of_its_terminal(place: Place, shell: Task) -> None:
    async with terminal(place.api, place.owner.token, shell.id) as socket:
        socket.type("echo pid=$$.\n")
        pid = int(await socket.matches(r"pid=(\d+)\."))
        assert is_alive(pid)
    await until_true(alive_of([pid]), lambda left: not left, [])


def alive_of(pids: list[int]) -> Callable[[], Awaitable[list[int]]]:
    async def look() -> list[int]:
        return [pid for pid in pids if is_alive(pid)]

    return look


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def test_a_large_paste_arrives_whole(place: Place, shell: Task) -> None:
    async with terminal(place.api, place.owner.token, shell.id) as socket:
        socket.type("stty -echo; echo ready; head -c 200000 | wc -c\n")
        await socket.shows("ready\r\n")
        for _ in range(4):
            socket.type(("x" * 99 + "\n") * 500)
        await socket.shows("200000")


async def test_the_end_of_the_task_ends_the_terminal(place: Place, shell: Task) -> None:
    async with terminal(place.api, place.owner.token, shell.id) as socket:
        socket.type("echo up\n")
        await socket.shows("up")
        shell.end()
        code, reason = await socket.end()
        assert (code, "has ended" in reason) == (Close.NOT_RUNNING, True)


async def test_a_lost_ssh_server_is_not_reported_as_an_ended_shell(
    place: Place, tmp_path: Path
) -> None:
    shell_id, keys = await place.shell()
    async with listening() as relay:
        task = run_shell(place.services, shell_id, relay.port)
        with ssh_server(keys, tmp_path) as port:
            relay.serve = lambda reader, writer: carry(port, reader, writer)
            async with terminal(place.api, place.owner.token, shell_id) as socket:
                socket.type("echo up\n")
                await socket.shows("up")
                relay.drop()
                code, reason = await socket.end()
                assert (code, "broke off" in reason) == (Close.AGAIN, True)
        task.end()


async def carry(port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Carry a connection to a port of this machine."""
    far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)

    async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while data := await source.read(65536):
            sink.write(data)
            await sink.drain()
        sink.close()

    try:
        await asyncio.gather(pump(reader, far_writer), pump(far_reader, writer))
    finally:
        far_writer.close()


@pytest.mark.parametrize("how", ["revoked", "deactivated"])
async def test_the_terminal_ends_with_its_login(
    place: Place, shell: Task, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(terminals, "RECHECK_S", 0.02)
    auth, identities = place.services[Auth], place.services[Identities]
    token = (await auth.login("determined", PASSWORD, is_hashed=False)).token
    async with terminal(place.api, token, shell.id) as socket:
        socket.type("echo up\n")
        await socket.shows("up")
        caller = await identities.authenticate(token)
        assert caller is not None
        if how == "revoked":
            await auth.logout(caller, token)
            assert (await socket.end())[0] == Close.SIGNED_OUT
        else:
            path = f"/api/v1/users/{caller.user_id}"
            assert (await place.guest("PATCH", path, {"active": False})).status == 200
            assert (await socket.end())[0] in (Close.SIGNED_OUT, Close.REFUSED)
            assert (await place.guest("PATCH", path, {"active": True})).status == 200
            opened = await auth.login("determined", PASSWORD, is_hashed=False)
            place.owner.token = opened.token


async def test_a_revoked_share_ends_the_terminal(
    place: Place, shell: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminals, "RECHECK_S", 0.02)
    shares = f"/api/v1/tasks/{shell.id}/shares"
    assert (await place.owner("POST", shares, {"users": ["admin"]})).status == 200
    async with terminal(place.api, place.guest.token, shell.id) as socket:
        socket.type("echo up\n")
        await socket.shows("up")
        await place.owner("POST", f"{shares}/revoke", {"users": ["admin"]})
        assert (await socket.end())[0] == Close.REFUSED


async def test_nothing_that_listens_is_worth_another_try(place: Place) -> None:
    shell_id, _ = await place.shell()
    task = run_shell(place.services, shell_id, free_port())
    async with terminal(place.api, place.owner.token, shell_id) as socket:
        code, reason = await socket.end()
        assert (code, "does not answer" in reason) == (Close.AGAIN, True)
    task.end()


async def test_a_server_with_another_key_gets_no_login(place: Place, tmp_path: Path) -> None:
    shell_id, _ = await place.shell()
    other = derive_key_pair(b"o" * 32, "ED25519", 0)
    with ssh_server(other, tmp_path) as port:
        task = run_shell(place.services, shell_id, port)
        async with terminal(place.api, place.owner.token, shell_id) as socket:
            code, reason = await socket.end()
            assert (code, "is not the ssh server" in reason) == (Close.BROKEN, True)
        task.end()
        assert "Accepted" not in (tmp_path / "ssh" / "log").read_text()


async def test_a_machine_without_terminals_says_so(place: Place, tmp_path: Path) -> None:
    shell_id, keys = await place.shell()
    with ssh_server(keys, tmp_path, "PermitTTY no") as port:
        task = run_shell(place.services, shell_id, port)
        async with terminal(place.api, place.owner.token, shell_id) as socket:
            code, reason = await socket.end()
            assert (code, "no terminal" in reason) == (Close.BROKEN, True)
        task.end()


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ('{"columns":0,"rows":24}', Close.MALFORMED),
        ('{"columns":80}', Close.MALFORMED),
        ("nonsense", Close.MALFORMED),
        (b"x" * (MAX_INPUT_BYTES + 1), Close.TOO_BIG),
    ],
)
async def test_a_message_out_of_bounds_closes_the_terminal(
    place: Place, shell: Task, message: str | bytes, code: Close
) -> None:
    async with terminal(place.api, place.owner.token, shell.id) as socket:
        if isinstance(message, str):
            socket.send(message)
        else:
            socket.send_bytes(message)
        assert (await socket.end())[0] == code


async def test_the_first_message_must_be_the_size(
    place: Place, shell: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    socket = TerminalSocket(place.api, place.owner.token, shell.id)
    assert (await socket.event())["type"] == "websocket.accept"
    socket.type("ls\n")
    assert (await socket.end())[0] == Close.MALFORMED
    await socket.leave()
    monkeypatch.setattr(terminals, "FIRST_SIZE_S", 0.01)
    silent = TerminalSocket(place.api, place.owner.token, shell.id)
    assert (await silent.event())["type"] == "websocket.accept"
    assert await silent.end() == (Close.MALFORMED, "The terminal's size did not come.")
    await silent.leave()


async def test_a_user_has_so_many_terminals_and_no_more(
    place: Place, shell: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "MAX_TERMINALS_OF_USER", 1)
    async with terminal(place.api, place.owner.token, shell.id) as first:
        first.type("echo up\n")
        await first.shows("up")
        refused = TerminalSocket(place.api, place.owner.token, shell.id)
        status, text = await refused.refusal()
        assert (status, "open terminals" in text) == (Close.BROKEN, True)
        await refused.leave()
    async with terminal(place.api, place.owner.token, shell.id) as again:
        again.type("echo up\n")
        await again.shows("up")


async def test_a_shell_that_does_not_run_has_no_terminal(place: Place) -> None:
    shell_id, _ = await place.shell()
    socket = TerminalSocket(place.api, place.owner.token, shell_id)
    status, text = await socket.refusal()
    assert (status, "does not run" in text) == (Close.NOT_RUNNING, True)
    await socket.leave()
