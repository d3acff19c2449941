"""Finding 18: the tunnel to a shell's sshd opens without a token."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.api.client import Client
from tests.api.master import PASSWORD, running_services
from tests.api.proxy.proxied import ask, listening, run_task, serving
from tests.ready_database import ready_database
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus
from websockets.typing import Origin

from determined_master.api.app import Api
from determined_master.api.table import all_routes
from determined_master.domain.task.kinds import TASK_KINDS
from determined_master.services.access.auth import Auth
from determined_master.services.access.identities import Identities
from determined_master.services.access.passwords import Passwords
from determined_master.services.catalog import Services
from determined_master.services.tasks.interactive_tasks import InteractiveTasks
from determined_master.store.db import Address, open_database

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
NOT_A_WEBSOCKET = 400
"""A tunnel that admits answers this to plain HTTP."""


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def master(
    postgres: Address, passwords: Passwords
) -> AsyncIterator[tuple[Services, int, Api]]:
    async with (
        ready_database(postgres) as address,
        await open_database(address, min_size=1) as pool,
        running_services(address, pool, passwords) as (services, _),
    ):
        api = Api(all_routes(), services, services[Identities])
        async with serving(api) as port:
            yield services, port, api
        api.close()


async def test_a_stranger_gets_no_tunnel_to_a_shell(master: tuple[Services, int, Api]) -> None:
    services, port, _ = master
    server = TASK_KINDS["SHELL"].server
    assert server is not None
    async with listening() as sshd:
        shell = run_task(
            services, sshd.port, task_type="SHELL", is_tcp=True, is_default=True,
            admits_readers=server.admits_readers, is_unauthenticated=server.is_unauthenticated,
        )  # fmt: skip
        path = f"/proxy/{shell.id}/"
        assert (await ask(port, path)).status == 401
        opened = await services[Auth].login("admin", PASSWORD, is_hashed=False)
        visits = services[InteractiveTasks].visits
        visits.record(shell.id, "10.1.1.1", opened.token)
        assert (await ask(port, path)).status == 401, "the shell was read from another address"
        visits.record(shell.id, "127.0.0.1", opened.token)
        assert (await ask(port, path)).status == NOT_A_WEBSOCKET
        tunnel = f"ws://127.0.0.1:{port}{path}"
        async with connect(tunnel, proxy=None):
            """`det` of 0.38.1 sends neither a token nor an origin."""
        with pytest.raises(InvalidStatus, match="403"):
            await connect(tunnel, proxy=None, origin=Origin("http://page.example"))
        await services[Auth].logout(
            await services[Identities].authenticate(opened.token), opened.token
        )
        assert (await ask(port, path)).status in (303, 401), "the token was revoked"
        visits.record(shell.id, "127.0.0.1", opened.token)
        shell.end()
        assert visits.token_of(shell.id, "127.0.0.1") == ""


async def test_reading_a_shell_is_recorded_with_its_token(
    master: tuple[Services, int, Api],
) -> None:
    services, _, api = master
    opened = await services[Auth].login("determined", PASSWORD, is_hashed=False)
    client = Client(api, opened.token)
    body = {"config": {"resources": {"slots": 0}}}
    launched = (await client("POST", "/api/v1/shells", body)).json()["shell"]
    visits, address = services[InteractiveTasks].visits, ""  # of the test's client
    assert visits.token_of(launched["id"], address) == opened.token
    again = await services[Auth].login("determined", PASSWORD, is_hashed=False)
    await Client(api, again.token)("GET", f"/api/v1/shells/{launched['id']}")
    assert visits.token_of(launched["id"], address) == again.token
