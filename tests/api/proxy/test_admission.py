"""By whom services of tasks are reached, and which there are."""

from __future__ import annotations

import asyncio
import json
from uuid import uuid4

import pytest
from msgspec.structs import replace
from tests.api.master import PASSWORD
from tests.api.proxy.proxied import (
    Backend,
    Master,
    ask,
    exchange,
    lines_of,
)

from determined_master.domain.task.proxy_port import ProxyPort
from determined_master.services.access.auth import Auth
from determined_master.services.access.identities import Identities
from determined_master.services.access.users import Users
from determined_master.services.tasks.proxies import Proxies

pytestmark = [pytest.mark.asyncio(loop_scope="module")]


CARRIERS = ["Authorization: Bearer {}", "Authorization: bearer  {}", "Cookie: a=b; auth={}; c=d"]


@pytest.mark.parametrize("carrier", CARRIERS)
async def test_a_users_token_admits_and_is_not_forwarded(
    carrier: str, master: Master, backend: Backend
) -> None:
    task = master.task(backend)
    path = f"/proxy/{task.id}:8080/"
    answer = await ask(master.port, f"{path}?token={master.token}", carrier.format(master.token))
    assert answer.status == 200
    assert master.token.encode() not in backend.heads[0]
    assert ("cookie: a=b; c=d" in lines_of(backend.heads[0])) == ("Cookie" in carrier)


async def test_a_token_of_the_service_itself_is_passed_on(
    master: Master, backend: Backend
) -> None:
    task = master.task(backend)
    cookie = f"Cookie: auth={master.token}"
    path = f"/proxy/{task.id}:8080/?token=its-own"
    await ask(master.port, path, "Authorization: Bearer its-own", cookie)
    assert "authorization: bearer its-own" in lines_of(backend.heads[0])
    assert b"?token=its-own" in backend.heads[0]


async def test_nobody_gets_in_without_a_token(master: Master, backend: Backend) -> None:
    task = master.task(backend)
    path = f"/proxy/{task.id}:8080/a?b=c&d=e"
    none = await ask(master.port, path)
    assert (none.status, json.loads(none.body)) == (401, {"message": "Unauthorized"})
    page = await ask(master.port, path, "Accept: text/html,*/*")
    bad = await ask(master.port, path, "Authorization: Bearer nonsense")
    quoted = f"/det/login?redirect={path.partition('?')[0]}%3Fb%3Dc%26d%3De"
    for answer in (page, bad):
        assert (answer.status, answer.headers["location"]) == (303, quoted)
    assert backend.heads == []
    last = master.services[Proxies].last_request_at(task.id)
    assert last is None, "a stranger does not keep an idle task running"


async def test_a_token_in_the_address_lets_nobody_in(master: Master, backend: Backend) -> None:
    task = master.task(backend)
    answer = await ask(master.port, f"/proxy/{task.id}:8080/?token={master.token}")
    assert answer.status == 401
    assert backend.heads == []


async def test_a_deactivated_user_is_sent_to_the_login(master: Master, backend: Backend) -> None:
    opened = await master.services[Auth].login("determined", PASSWORD, is_hashed=False)
    task = master.task(backend)
    pool = master.services[Users]._db
    try:
        await pool.execute("UPDATE users SET active = false WHERE username = 'determined'")
        master.services[Identities].forget_users((2,))
        path = f"/proxy/{task.id}:8080/"
        answer = await ask(master.port, path, f"Authorization: Bearer {opened.token}")
        assert answer.status == 303
    finally:
        await pool.execute("UPDATE users SET active = true WHERE username = 'determined'")
        master.services[Identities].forget_users((2,))
    assert backend.heads == []


async def test_an_open_service_needs_no_token_and_sees_none(
    master: Master, backend: Backend
) -> None:
    task = master.task(backend, is_unauthenticated=True)
    path = f"/proxy/{task.id}:8080/"
    assert (await ask(master.port, path)).status == 200
    await ask(master.port, path, master.bearer, f"Cookie: auth={master.token}")
    assert all(master.token.encode() not in head for head in backend.heads)
    assert len(backend.heads) == 2


async def test_a_notebook_is_reached_with_its_own_token(master: Master, backend: Backend) -> None:
    task = master.task(backend, task_type="NOTEBOOK", is_default=True)
    other = master.task(backend, task_type="NOTEBOOK", is_default=True)
    token = master.services[Proxies]._tokens.notebook_token(task.id)
    path = f"/proxy/{task.id}/lab"
    assert (await ask(master.port, f"{path}?token={token}")).status == 200
    assert f"?token={token}".encode() in backend.heads[0], "it asks for the token itself"
    assert (await ask(master.port, path, f"Authorization: token {token}")).status == 200
    assert (await ask(master.port, f"/proxy/{other.id}/lab?token={token}")).status == 401
    is_trial = master.task(backend, is_default=True)
    own = master.services[Proxies]._tokens.notebook_token(is_trial.id)
    assert (await ask(master.port, f"/proxy/{is_trial.id}/?token={own}")).status == 401


async def test_a_service_cannot_change_who_its_user_is(master: Master, backend: Backend) -> None:
    async def bake(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await backend.head(reader)
        writer.write(b"HTTP/1.1 204 None\r\nSet-Cookie: auth=evil; Path=/\r\n")
        writer.write(b"Set-Cookie: =auth=evil; Path=/\r\n")
        writer.write(b"Set-Cookie: own=1\r\nUpgrade: h2c\r\n\r\n")

    backend.serve = bake
    path = f"/proxy/{master.task(backend).id}:8080/"
    request = f"GET {path} HTTP/1.1\r\nHost: m\r\n{master.bearer}\r\nConnection: close\r\n\r\n"
    head = lines_of(await exchange(master.port, request.encode()))
    assert head[0].startswith("http/1.1 204 ")
    assert [line for line in head if line.startswith("set-cookie")] == ["set-cookie: own=1"]
    assert not any(line.startswith("upgrade") for line in head)


async def test_services_follow_the_life_of_their_allocation(
    master: Master, backend: Backend
) -> None:
    proxies = master.services[Proxies]
    task = master.task(backend)
    path = f"/proxy/{task.id}:8080/"
    assert proxies.last_request_at(task.id) is None
    await master.ask(path)
    asked_at = proxies.last_request_at(task.id)
    assert asked_at is not None
    [chief] = task.state.containers
    second = replace(chief, id=str(uuid4()), rank=1, host_ip="127.0.0.9")
    task.become(containers=(second, chief))
    assert (await master.ask(path)).status == 200, "only the container of rank 0 is proxied"
    task.become(containers=(replace(chief, state="STARTING"),))
    assert not proxies.is_registered(task.id)
    assert (await master.ask(path)).status == 404
    task.become(containers=(chief,))
    assert proxies.is_registered(task.id)
    task.end()
    assert (await master.ask(path)).status == 404
    assert not proxies.is_registered(task.id)
    assert proxies.last_request_at(task.id) is None


async def test_only_declared_ports_are_reached(master: Master, backend: Backend) -> None:
    task = master.task(backend)
    [chief] = task.state.containers
    task.become(containers=(replace(chief, ports=((8080, backend.port), (22, backend.port))),))
    assert (await master.ask(f"/proxy/{task.id}:22/")).status == 404
    declared = replace(task.state.request, proxy_ports=(ProxyPort(8080), ProxyPort(9)))
    task.become(request=declared)
    assert (await master.ask(f"/proxy/{task.id}:9/")).status == 404, "its agent published none"
    assert backend.heads == []
