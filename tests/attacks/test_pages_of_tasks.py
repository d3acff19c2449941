"""Finding 16: a page that a task serves acts at the master as its viewer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from tests.api.master import PASSWORD, running_services
from tests.api.proxy.proxied import Backend, Reply, ask, listening, run_task, serving
from tests.ready_database import ready_database

from determined_master.api.app import Api
from determined_master.api.table import all_routes
from determined_master.services.access.auth import Auth
from determined_master.services.access.identities import Identities
from determined_master.services.access.passwords import Passwords
from determined_master.services.catalog import Services
from determined_master.services.tasks.service import Tasks
from determined_master.store.db import Address, open_database

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
OWN_ADDRESS = "http://{service}.tasks:8081"
PAGE = ("Accept: text/html", "Sec-Fetch-Mode: navigate")


class Place(NamedTuple):
    services: Services
    port: int
    token: str
    task_port: Backend

    @property
    def cookie(self) -> str:
        return f"Cookie: auth={self.token}"


def served(services: Services, address: str) -> Api:
    return Api(all_routes(), services, services[Identities], service_address=address)


@pytest_asyncio.fixture(loop_scope="module", scope="module", params=["", OWN_ADDRESS])
async def place(
    request: pytest.FixtureRequest, postgres: Address, passwords: Passwords
) -> AsyncIterator[Place]:
    async with (
        ready_database(postgres) as address,
        await open_database(address, min_size=1) as pool,
        running_services(address, pool, passwords) as (services, _),
        listening() as backend,
    ):
        api = served(services, request.param)
        async with serving(api) as port:
            opened = await services[Auth].login("determined", PASSWORD, is_hashed=False)
            yield Place(services, port, opened.token, backend)
        api.close()


shared = pytest.mark.parametrize("place", [""], indirect=True)
apart = pytest.mark.parametrize("place", [OWN_ADDRESS], indirect=True)


async def at(place: Place, host: str, path: str, *headers: str) -> Reply:
    """A request to the master under another host name."""
    return await ask(place.port, path, *headers, host=host)


@shared
async def test_a_page_of_another_user_is_sandboxed(place: Place) -> None:
    task = run_task(place.services, place.task_port.port)
    path = f"/proxy/{task.id}:8080/"
    answer = await ask(place.port, path, place.cookie, *PAGE)
    assert answer.status == 200
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("sandbox ")
    assert "allow-same-origin" not in policy
    by_program = await ask(place.port, path, f"Authorization: Bearer {place.token}")
    assert "content-security-policy" not in by_program.headers


@shared
async def test_a_page_of_ones_own_task_is_not_sandboxed(place: Place) -> None:
    task = run_task(place.services, place.task_port.port)
    caller = await place.services[Identities].authenticate(place.token)
    assert not await place.services[Tasks].is_owner(caller.user_id, task.id)
    place.services[Tasks]._owners[task.id] = caller.user_id
    answer = await ask(place.port, f"/proxy/{task.id}:8080/", place.cookie, *PAGE)
    assert answer.status == 200
    assert "content-security-policy" not in answer.headers


@shared
async def test_our_own_pages_run_no_scripts(place: Place) -> None:
    page = await ask(place.port, "/det/login?form=1")
    assert page.status == 200
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert page.headers["referrer-policy"] == "same-origin"
    assert page.headers["x-content-type-options"] == "nosniff"


@apart
async def test_a_browser_opens_a_page_at_its_own_origin_with_a_ticket(place: Place) -> None:
    task = run_task(place.services, place.task_port.port)
    path = f"/proxy/{task.id}:8080/"
    moved = await ask(place.port, f"{path}?a=b", place.cookie, *PAGE)
    assert moved.status == 303
    location = urlsplit(moved.headers["location"])
    assert location.netloc == f"{task.id}-8080.tasks:8081"
    assert place.token not in moved.headers["location"]
    target = f"{location.path}?{location.query}"
    entered = await at(place, location.netloc, target, *PAGE)
    assert entered.status == 303
    assert entered.headers["location"] == f"http://{location.netloc}{path}?a=b"
    cookie = entered.headers["set-cookie"].partition(";")[0]
    assert "HttpOnly" in entered.headers["set-cookie"]
    page = await at(place, location.netloc, f"{path}?a=b", f"Cookie: {cookie}", *PAGE)
    assert page.status == 200
    assert cookie.encode() not in place.task_port.heads[-1]
    again = await at(place, location.netloc, target, *PAGE)
    assert "set-cookie" not in again.headers, "a ticket is good for one exchange"
    other = run_task(place.services, place.task_port.port)
    elsewhere = f"{other.id}-8080.tasks:8081"
    foreign = await at(place, elsewhere, f"/proxy/{other.id}:8080/", f"Cookie: {cookie}")
    assert foreign.status == 401, "the pass is for one service"
    await place.services[Auth].logout(
        await place.services[Identities].authenticate(place.token), place.token
    )
    late = await at(place, location.netloc, path, f"Cookie: {cookie}")
    assert late.status == 401, "the pass ends with the login"


@apart
@pytest.mark.parametrize("path", ["/api/v1/me", "/", "/det/", "/info", "/api/v1/auth/login"])
async def test_the_master_serves_nothing_at_the_origin_of_a_task(place: Place, path: str) -> None:
    task = run_task(place.services, place.task_port.port)
    answer = await at(place, f"{task.id}-8080.tasks:8081", path, place.cookie)
    assert answer.status == 404


@apart
async def test_the_login_opens_no_page_at_the_masters_origin(place: Place) -> None:
    opened = await place.services[Auth].login("determined", PASSWORD, is_hashed=False)
    task = run_task(place.services, place.task_port.port)
    path, cookie = f"/proxy/{task.id}:8080/", f"Cookie: auth={opened.token}"
    for headers in ((cookie,), (cookie, "Sec-Fetch-Mode: cors"), (cookie, "Origin: http://x")):
        assert (await ask(place.port, path, *headers)).status == 403
    bearer = f"Authorization: Bearer {opened.token}"
    assert (await ask(place.port, path, bearer)).status == 200, "programs need no other address"
    at_own = await at(place, f"{task.id}-8080.tasks:8081", path, cookie)
    assert at_own.status == 401, "the login's cookie is none of the service's"
