"""Open connections end soon after the token that opened them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.api.master import PASSWORD, running_services
from tests.api.proxy.proxied import DEADLINE_S, Backend, Master, serving
from tests.api.proxy.test_sockets import shout, tunnel, upgrade_request, upgraded
from tests.ready_database import ready_database
from websockets.exceptions import ConnectionClosed

from determined_master.api.app import Api
from determined_master.api.table import all_routes
from determined_master.domain.access.rules import Caller
from determined_master.services.access.auth import Auth
from determined_master.services.access.identities import Identities
from determined_master.services.access.passwords import Passwords
from determined_master.services.access.users import Users
from determined_master.store.db import Address, open_database

pytestmark = [pytest.mark.asyncio(loop_scope="module")]
RECHECK_S = 0.02


class Asked:
    """An authenticator that counts its questions."""

    def __init__(self, identities: Identities) -> None:
        self._identities = identities
        self._count = 0
        self._news = asyncio.Event()

    async def authenticate(self, token: str) -> Caller | None:
        self._count += 1
        self._news.set()
        return await self._identities.authenticate(token)

    async def often(self) -> None:
        """Wait until it was asked three times more."""
        wanted = self._count + 3
        while self._count < wanted:
            self._news.clear()
            await asyncio.wait_for(self._news.wait(), DEADLINE_S)


class Watched(Master):
    """A master that looks often at who stays."""

    asked: Asked

    async def log_in(self) -> None:
        opened = await self.services[Auth].login("determined", PASSWORD, is_hashed=False)
        self.token = opened.token

    async def log_out(self) -> None:
        caller = await self.services[Identities].authenticate(self.token)
        assert caller is not None
        await self.services[Auth].logout(caller, self.token)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def master(postgres: Address, passwords: Passwords) -> AsyncIterator[Watched]:
    async with (
        ready_database(postgres) as address,
        await open_database(address, min_size=1) as pool,
        running_services(address, pool, passwords) as (services, _),
    ):
        asked = Asked(services[Identities])
        api = Api(all_routes(), services, asked, recheck_s=RECHECK_S)
        async with serving(api) as port:
            made = Watched(services, port, "")
            made.asked = asked
            yield made
        api.close()


async def test_a_websocket_ends_when_its_token_is_revoked(
    master: Watched, backend: Backend
) -> None:
    backend.serve = lambda reader, writer: upgraded(backend, reader, writer)
    await master.log_in()
    reader, writer = await asyncio.open_connection("127.0.0.1", master.port)
    async with asyncio.timeout(DEADLINE_S):
        writer.write(upgrade_request(master, master.task(backend)))
        await reader.readuntil(b"\r\n\r\n")
        assert await reader.readexactly(2) == b"hi"
        await master.asked.often()
        writer.write(b"still here")
        assert await reader.readexactly(10) == b"STILL HERE"
        await master.log_out()
        assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()
        await backend.closed.wait()


async def test_a_tunnel_ends_with_a_reason_when_its_user_is_deactivated(
    master: Watched, backend: Backend
) -> None:
    backend.serve = shout(backend)  # type: ignore[assignment]
    await master.log_in()
    async with (
        asyncio.timeout(DEADLINE_S),
        tunnel(master, master.task(backend, is_tcp=True)) as ws,
    ):
        await ws.send(b"x")
        assert await ws.recv() == b"X"
        await master.asked.often()
        pool = master.services[Users]._db
        await pool.execute("UPDATE users SET active = false WHERE username = 'determined'")
        master.services[Identities].forget_users((2,))
        with pytest.raises(ConnectionClosed):
            await ws.recv()
        assert ws.close_code == 1008
        await pool.execute("UPDATE users SET active = true WHERE username = 'determined'")
        master.services[Identities].forget_users((2,))


async def test_tokens_of_public_requests_are_not_checked(
    master: Watched, backend: Backend
) -> None:
    backend.serve = shout(backend)  # type: ignore[assignment]
    task = master.task(backend, is_tcp=True, is_unauthenticated=True)
    await master.log_in()
    async with asyncio.timeout(DEADLINE_S), tunnel(master, task, {}) as ws:
        async with tunnel(master, master.task(backend, is_tcp=True)) as other:
            await other.send(b"x")
            await master.asked.often()
        await ws.send(b"x")
        assert await ws.recv() == b"X"
