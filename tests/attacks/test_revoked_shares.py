"""A notebook's own token that a user has copied outlives the share of the user."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import NamedTuple

import pytest
import pytest_asyncio
from msgspec.structs import replace
from tests.api.client import Client
from tests.api.master import PASSWORD, running_services
from tests.api.proxy.proxied import DEADLINE_S, Backend, ask, listening, run_task, serving
from tests.api.proxy.test_sockets import upgraded
from tests.ready_database import ready_database

from determined_master.api.app import Api
from determined_master.api.table import all_routes
from determined_master.services.access.auth import Auth
from determined_master.services.access.identities import Identities
from determined_master.services.access.passwords import Passwords
from determined_master.store.db import Address, open_database

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
GUEST = "determined"
SIGN_IN = 303
"""The login page answers those whose token is not accepted."""
REFUSALS = (SIGN_IN, 401, 404)


class Place(NamedTuple):
    port: int
    owner: Client
    guest: Client
    program: Backend
    notebook: str
    shares: str
    """The path of the notebook's shares."""


@pytest_asyncio.fixture(loop_scope="module")
async def place(postgres: Address, passwords: Passwords) -> AsyncIterator[Place]:
    """A notebook of the admin."""
    async with (
        ready_database(postgres) as address,
        await open_database(address, min_size=1) as pool,
        running_services(address, pool, passwords) as (services, _),
        listening() as program,
    ):
        api = Api(all_routes(), services, services[Identities], recheck_s=0.02)
        async with serving(api) as port:
            owner, guest = [
                Client(api, (await services[Auth].login(who, PASSWORD, is_hashed=False)).token)
                for who in ("admin", GUEST)
            ]
            body = {"config": {"resources": {"slots": 0}}}
            launched = (await owner("POST", "/api/v1/notebooks", body)).json()["notebook"]["id"]
            task = run_task(services, program.port, task_type="NOTEBOOK", is_default=True)
            request = replace(task.state.request, task_id=launched)
            task.become(id=f"{launched}.1", request=request)
            shares = f"/api/v1/tasks/{launched}/shares"
            yield Place(port, owner, guest, program, launched, shares)
        api.close()


async def address_for(place: Place, client: Client) -> str:
    answer = await client("GET", f"/api/v1/notebooks/{place.notebook}")
    return str(answer.json()["notebook"]["serviceAddress"])


def entries(address: str, client: Client) -> list[tuple[str, tuple[str, ...]]]:
    """Every way in: paths with headers."""
    path, _, own = address.partition("?token=")
    login = f"Cookie: auth={client.token}"
    return [
        (address, ()),
        (path, (f"Authorization: token {own}",)),
        (address, (login,)),
        (path, (login, f"Authorization: token {own}")),
        (address, (f"Authorization: Bearer {client.token}",)),
    ]


async def test_a_copied_token_opens_nothing_once_the_share_is_revoked(place: Place) -> None:
    await place.owner("POST", place.shares, {"users": [GUEST]})
    address = await address_for(place, place.guest)
    assert "?token=" in address
    statuses = [
        (await ask(place.port, path, *headers)).status
        for path, headers in entries(address, place.guest)
    ]
    assert statuses == [401, SIGN_IN, 200, 200, 200]
    await place.owner("POST", f"{place.shares}/revoke", {"users": [GUEST]})
    for path, headers in entries(address, place.guest):
        assert (await ask(place.port, path, *headers)).status in REFUSALS, headers
    for path, headers in entries(address, place.owner)[2:]:
        assert (await ask(place.port, path, *headers)).status == 200, "its owner still enters"


async def test_a_copied_token_opens_nothing_once_its_holder_has_left_the_group(
    place: Place,
) -> None:
    guest_id = (await place.guest("GET", "/api/v1/me")).json()["user"]["id"]
    made = await place.owner("POST", "/api/v1/groups", {"name": "lab", "addUsers": [guest_id]})
    await place.owner("POST", place.shares, {"groups": ["lab"]})
    address = await address_for(place, place.guest)
    path, headers = entries(address, place.guest)[2]
    assert (await ask(place.port, path, *headers)).status == 200
    group = f"/api/v1/groups/{made.json()['group']['groupId']}"
    await place.owner("PUT", group, {"removeUsers": [guest_id]})
    for path, headers in entries(address, place.guest):
        assert (await ask(place.port, path, *headers)).status in REFUSALS, headers


async def test_open_websockets_close_when_the_share_is_revoked(place: Place) -> None:
    place.program.serve = lambda reader, writer: upgraded(place.program, reader, writer)
    await place.owner("POST", place.shares, {"users": [GUEST]})
    address = await address_for(place, place.guest)
    reader, writer = await asyncio.open_connection("127.0.0.1", place.port)
    async with asyncio.timeout(DEADLINE_S):
        lines = (
            *(f"GET {address} HTTP/1.1", "Host: master", f"Cookie: auth={place.guest.token}"),
            "Origin: http://master",
            *("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"),
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        )
        writer.write("\r\n".join([*lines, "", ""]).encode())
        assert b" 101 " in await reader.readuntil(b"\r\n\r\n")
        assert await reader.readexactly(2) == b"hi"
        await place.owner("POST", f"{place.shares}/revoke", {"users": [GUEST]})
        assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()


async def test_the_token_of_a_notebook_that_was_never_shared_opens_it(place: Place) -> None:
    address = await address_for(place, place.owner)
    for path, headers in entries(address, place.owner):
        assert (await ask(place.port, path, *headers)).status == 200, headers
