"""Findings 16 and N1: a page that a task serves acts at the master as its viewer."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from tests.api.master import PASSWORD, running_services
from tests.api.proxy.proxied import Backend, Reply, ask, exchange, listening, run_task, serving
from tests.ready_database import ready_database

from determined_master.api.app import Api
from determined_master.api.proxy.own_origin import ServiceOrigin
from determined_master.api.table import all_routes
from determined_master.services.access.auth import Auth
from determined_master.services.access.identities import Identities
from determined_master.services.access.passwords import Passwords
from determined_master.services.catalog import Services
from determined_master.services.tasks.proxies import Proxies
from determined_master.services.tasks.service import Tasks
from determined_master.store.db import Address, open_database

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
OWN_ADDRESS = "http://{service}.tasks:8081"
SECOND_PORT = "a second port"
PAGE = ("Accept: text/html", "Sec-Fetch-Mode: navigate")


class Place(NamedTuple):
    services: Services
    port: int
    token: str
    task_port: Backend
    services_port: int = 0
    """The second one, where there is one."""

    @property
    def cookie(self) -> str:
        return f"Cookie: auth={self.token}"


@pytest_asyncio.fixture(loop_scope="module", scope="module", params=["", OWN_ADDRESS, SECOND_PORT])
async def place(
    request: pytest.FixtureRequest, postgres: Address, passwords: Passwords
) -> AsyncIterator[Place]:
    async with (
        ready_database(postgres) as address,
        await open_database(address, min_size=1) as pool,
        running_services(address, pool, passwords) as (services, _),
        listening() as backend,
    ):
        sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
        master_port, port = (each.getsockname()[1] for each in sockets)
        origins = {
            "": None,
            OWN_ADDRESS: ServiceOrigin(OWN_ADDRESS),
            SECOND_PORT: ServiceOrigin(
                f"http://{{host}}:{port}", port=port, master_port=master_port
            ),
        }
        api = Api(all_routes(), services, services[Identities], origin=origins[request.param])
        async with serving(api, sockets):
            opened = await services[Auth].login("determined", PASSWORD, is_hashed=False)
            yield Place(services, master_port, opened.token, backend, port)
        api.close()


shared = pytest.mark.parametrize("place", [""], indirect=True)
apart = pytest.mark.parametrize("place", [OWN_ADDRESS], indirect=True)
second = pytest.mark.parametrize("place", [SECOND_PORT], indirect=True)


async def at(place: Place, host: str, path: str, *headers: str) -> Reply:
    """A request to the master under another host name."""
    return await ask(place.port, path, *headers, host=host)


SANDBOXED = [
    "Authorization: Bearer {token}",
    "Authorization: Basic eDp5",
    "Cookie: auth={token}\r\nAuthorization: Basic eDp5",
    "Cookie: auth={token}\r\nAuthorization: nonsense",
    "Cookie: auth={token}\r\nAuthorization: Bearer {token}",
    "Cookie: auth={token}\r\nGrpc-Metadata-X-Allocation-Token: Bearer x",
]
"""Carriers of the owner's own token that switch a sandbox on."""


def own_task(place: Place, user_id: int, **options: Any) -> str:
    """The path of a service whose task is this user's."""
    task = run_task(place.services, place.task_port.port, **options)
    place.services[Tasks]._owners[task.id] = user_id
    return f"/proxy/{task.id}:8080/"


async def user_id(place: Place) -> int:
    caller = await place.services[Identities].authenticate(place.token)
    assert caller is not None
    return caller.user_id


def is_sandboxed(answer: Reply) -> bool:
    assert answer.status == 200, answer
    policy = answer.headers.get("content-security-policy", "")
    assert "allow-same-origin" not in policy
    return policy.startswith("sandbox ")


@shared
@pytest.mark.parametrize("is_owner", [True, False])
@pytest.mark.parametrize("port", ["", "is_unauthenticated", "is_keyed"])
async def test_a_page_is_sandboxed_unless_its_owner_comes_by_cookie_alone(
    place: Place, port: str, is_owner: bool
) -> None:
    owner = await user_id(place) if is_owner else 999
    path = own_task(place, owner, **({port: True} if port else {}))
    by_cookie = await ask(place.port, path, place.cookie, *PAGE)
    assert is_sandboxed(by_cookie) == (not is_owner or port == "is_unauthenticated")
    for carrier in SANDBOXED:
        headers = carrier.format(token=place.token).split("\r\n")
        if port == "is_unauthenticated" or place.token in carrier.format(token=place.token):
            assert is_sandboxed(await ask(place.port, path, *headers, *PAGE)), carrier
    if port == "is_unauthenticated":
        assert is_sandboxed(await ask(place.port, path, *PAGE))


@shared
async def test_a_notebooks_own_token_is_no_owner(place: Place) -> None:
    for owner, by_cookie in ((await user_id(place), False), (999, True)):
        task = run_task(
            place.services, place.task_port.port, task_type="NOTEBOOK", is_default=True
        )
        place.services[Tasks]._owners[task.id] = owner
        token = place.services[Proxies]._tokens.notebook_token(task.id)
        path = f"/proxy/{task.id}/lab?token={token}"
        assert is_sandboxed(await ask(place.port, path, *PAGE))
        assert is_sandboxed(await ask(place.port, path, place.cookie, *PAGE)) == by_cookie


HARMFUL = [
    'NEL: {"report_to":"x","max_age":9}',
    'Report-To: {"group":"x"}',
    'Reporting-Endpoints: x="https://evil.example"',
    "Accept-CH: Sec-CH-UA-Model",
    "Critical-CH: Sec-CH-UA-Model",
    'Clear-Site-Data: "*"',
    "Service-Worker-Allowed: /",
    "Refresh: 0; url=/det/logout",
    'WWW-Authenticate: Basic realm="the master"',
    "Strict-Transport-Security: max-age=9",
    "Alt-Svc: h2=':1'",
    "Origin-Agent-Cluster: ?1",
    "Speculation-Rules: '/rules'",
    "X-Accel-Redirect: /internal",
    "X-Sendfile: /etc/passwd",
    "X-LIGHTTPD-send-file: /etc/passwd",
    "Link: </x>; rel=preload",
    "Public-Key-Pins: x",
    "Expect-CT: max-age=9",
    "Set-Login: logged-in",
    "SourceMap: x",
    "Proxy-Authenticate: Basic",
    "Activate-Storage-Access: load",
    "Use-As-Dictionary: x",
]
NEEDED = [
    "Content-Type: text/html",
    "Cache-Control: max-age=9",
    'ETag: "x"',
    "Location: /proxy/x/",
    "Content-Range: bytes 0-4/5",
    "Accept-Ranges: bytes",
    "Content-Disposition: attachment",
    "Access-Control-Allow-Origin: *",
    "Content-Security-Policy: frame-ancestors 'self'",
]


async def head_of(place: Place, path: str, answer: list[str], *sent: str) -> list[str]:
    """The lines of an answer's head, for a service that answers with these headers."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await place.task_port.head(reader)
        lines = ["HTTP/1.1 401 No", "Content-Length: 0", *answer, "", ""]
        writer.write("\r\n".join(lines).encode())

    before, place.task_port.serve = place.task_port.serve, serve
    try:
        lines = [f"GET {path} HTTP/1.1", "Host: master", "Connection: close", place.cookie, *sent]
        raw = await exchange(place.port, "\r\n".join([*lines, "", ""]).encode())
    finally:
        place.task_port.serve = before
    return raw.decode("latin-1").split("\r\n")


@shared
async def test_headers_that_browsers_apply_to_an_origin_are_dropped(place: Place) -> None:
    path = own_task(place, await user_id(place))
    lines = await head_of(place, path, HARMFUL + NEEDED)
    assert lines[0].startswith("HTTP/1.1 401 ")
    names = {line.partition(":")[0].lower() for line in lines[1:]}
    assert not names & {line.partition(":")[0].lower() for line in HARMFUL}
    for line in NEEDED:
        name, _, value = line.partition(": ")
        assert f"{name.lower()}: {value}" in lines


COOKIES = {
    "own=1": "own=1",
    "own=1; Path=/": "own=1; path=PATH",
    "own=1; path=/det; Path=/": "own=1; path=PATH",
    "own=1; Path=PATHlab; HttpOnly": "own=1; path=PATHlab; httponly",
    "own=1; Domain=example.com; SameSite=None; Partitioned": "own=1; samesite=None",
    "own=1; Max-Age=9; Expires=Thu, 01 Jan 1970 00:00:00 GMT": (
        "own=1; max-age=9; expires=Thu, 01 Jan 1970 00:00:00 GMT"
    ),
    "x=1 auth=evil; Path=/": "x=1 auth=evil; path=PATH",
    "auth=evil; Path=PATH": "",
    "AUTH=evil": "",
    " auth =evil": "",
    "__Host-auth=evil; Path=/; Secure": "",
    "__host-x=evil": "",
    "__Secure-x=1; Secure": "",
    "det_service=evil": "",
    "det_device=evil": "",
    "det_ticket_12345678=evil": "",
    "=auth=evil": "",
    "auth": "",
    "": "",
    f"big={'x' * 5000}": "",
}


@shared
@pytest.mark.parametrize("cookie", COOKIES)
async def test_a_service_sets_cookies_for_its_own_paths_alone(place: Place, cookie: str) -> None:
    path = own_task(place, await user_id(place))
    lines = await head_of(place, path, [f"Set-Cookie: {cookie.replace('PATH', path)}"])
    expected = COOKIES[cookie].replace("PATH", path)
    shown = [line for line in lines if line.startswith("set-cookie")]
    assert shown == ([f"set-cookie: {expected}"] if expected else [])


@shared
async def test_no_script_of_a_task_stays_for_the_next_visitor(place: Place) -> None:
    path = own_task(place, await user_id(place))
    for header in ("Service-Worker: script", "Sec-Fetch-Dest: serviceworker"):
        answer = await ask(place.port, f"{path}worker.js", place.cookie, header)
        assert answer.status == 403
        assert b"{service}" in answer.body
    page = await ask(place.port, path, place.cookie)
    assert "cookie" in page.headers["vary"].lower(), "a cache gives it to its owner alone"


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


async def entered(place: Place, path: str, *headers: str) -> tuple[Reply, list[str], str]:
    """A browser opens a page: the master's answer, its cookies, and the address it leads to."""
    host = f"127.0.0.1:{place.port}"
    moved = await ask(place.port, path, *headers, *PAGE, host=host)
    assert moved.status == 303, moved
    cookies = [moved.headers["set-cookie"]] if "set-cookie" in moved.headers else []
    location = moved.headers["location"]
    assert location.startswith(f"http://127.0.0.1:{place.services_port}{path.partition('?')[0]}")
    return moved, cookies, location.removeprefix(f"http://127.0.0.1:{place.services_port}")


async def at_services(place: Place, path: str, *headers: str, **more: Any) -> Reply:
    host = f"127.0.0.1:{place.services_port}"
    return await ask(place.services_port, path, *headers, host=host, **more)


async def passed(place: Place, path: str) -> str:
    """The header with the pass of a visitor who has opened a page."""
    _, [proof], target = await entered(place, path, place.cookie)
    assert proof.startswith("det_ticket_")
    assert f"; Path={path}; HttpOnly; SameSite=Lax; Max-Age=60" in proof
    cookies = f"{place.cookie}; {proof.partition(';')[0]}"
    answer = await at_services(place, target, cookies, *PAGE)
    assert answer.status == 303
    cookie = answer.headers["set-cookie"]
    assert f"; Path={path}; HttpOnly; SameSite=Lax" in cookie
    return "Cookie: " + cookie.partition(";")[0]


@second
async def test_a_browser_opens_a_page_at_the_second_port(place: Place) -> None:
    path = own_task(place, await user_id(place))
    visitor = await passed(place, path)
    before = len(place.task_port.heads)
    page = await at_services(place, path, visitor, *PAGE)
    assert not is_sandboxed(page)
    assert b"cookie" not in place.task_port.heads[before].lower()
    other = own_task(place, await user_id(place))
    assert (await at_services(place, other, visitor)).status == 401, "the pass is for one service"
    moved = await at_services(place, path, place.cookie, *PAGE)
    assert (moved.status, moved.headers["location"]) == (
        303,
        f"http://127.0.0.1:{place.port}{path}",
    ), "the login cookie is not read"
    assert (await at_services(place, path, place.cookie)).status == 401


@second
@pytest.mark.parametrize("port", ["", "is_unauthenticated"])
@pytest.mark.parametrize("is_owner", [True, False])
async def test_services_of_one_origin_are_sandboxed_from_each_other(
    place: Place, is_owner: bool, port: str
) -> None:
    owner = await user_id(place) if is_owner else 999
    path = own_task(place, owner, **({port: True} if port else {}))
    visitor = await passed(place, path)
    page = await at_services(place, path, visitor, *PAGE)
    assert is_sandboxed(page) == (not is_owner or bool(port))
    for carrier in ("Basic eDp5", "nonsense", f"Bearer {place.token}"):
        more = await at_services(place, path, visitor, f"Authorization: {carrier}", *PAGE)
        assert is_sandboxed(more)
    if port:
        assert is_sandboxed(await at_services(place, path, *PAGE))


@second
async def test_a_ticket_of_somebody_else_opens_nothing(place: Place) -> None:
    """A page that sees its visitor as its owner could act in all others of this origin."""
    path = own_task(place, await user_id(place))
    _, [proof], target = await entered(place, path, place.cookie)
    stolen = await at_services(place, target, *PAGE)
    assert "set-cookie" not in stolen.headers
    again = await at_services(place, target, f"Cookie: {proof.partition(';')[0]}", *PAGE)
    assert "set-cookie" not in again.headers, "a ticket is good for one exchange"


@second
async def test_two_passes_of_two_users_are_none(place: Place) -> None:
    path = own_task(place, await user_id(place))
    mine = await passed(place, path)
    opened = await place.services[Auth].login("admin", PASSWORD, is_hashed=False)
    theirs = await passed(place._replace(token=opened.token), path)
    both = f"{mine}; {theirs.removeprefix('Cookie: ')}"
    assert (await at_services(place, path, both)).status == 401


@second
@pytest.mark.parametrize("path", ["/api/v1/me", "/", "/det/", "/info", "/api/v1/auth/login"])
async def test_the_second_port_serves_services_alone(place: Place, path: str) -> None:
    for headers in ((place.cookie,), (f"Authorization: Bearer {place.token}",)):
        assert (await at_services(place, path, *headers)).status == 404
    socket_of = ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13")
    key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
    live = await at_services(
        place, "/api/ui/v1/live", place.cookie, *socket_of, key,
        f"Origin: http://127.0.0.1:{place.services_port}",
    )  # fmt: skip
    assert live.status == 404


@second
async def test_programs_reach_services_at_both_ports(place: Place) -> None:
    path, bearer = own_task(place, 999), f"Authorization: Bearer {place.token}"
    host = f"127.0.0.1:{place.port}"
    for answer in (
        await ask(place.port, path, bearer, host=host),
        await at_services(place, path, bearer),
        await at_services(place, path, bearer, method="POST", body=b"x"),
    ):
        assert answer.status == 200
        assert is_sandboxed(answer)
    page = ("Sec-Fetch-Mode: cors", "Sec-Fetch-Site: same-origin")
    for headers in ((place.cookie,), (place.cookie, *page), (bearer, *page)):
        answer = await ask(place.port, path, *headers, host=host)
        assert answer.status == 403
        assert f"http://127.0.0.1:{place.services_port}{path}".encode() in answer.body


@second
async def test_a_browser_at_another_address_stays_at_the_masters_address(place: Place) -> None:
    """The second port may not be forwarded: the sandbox holds there."""
    path = own_task(place, 999)
    for host in ("det.example.com", "localhost:9999", "a b:1"):
        answer = await ask(place.port, path, place.cookie, *PAGE, host=host)
        assert is_sandboxed(answer)
    for header in ("X-Forwarded-For: 10.0.0.1", "Forwarded: for=x", "Via: 1.1 x"):
        host = f"127.0.0.1:{place.port}"
        assert is_sandboxed(await ask(place.port, path, place.cookie, header, *PAGE, host=host))


@second
async def test_the_web_ui_may_show_the_page_in_a_frame(place: Place) -> None:
    policies = {
        "Content-Security-Policy: frame-ancestors 'self'; report-uri /x": (
            "content-security-policy: frame-ancestors 'self' MASTER; report-uri /x"
        ),
        "Content-Security-Policy: default-src x; frame-ancestors 'none'": (
            "content-security-policy: default-src x; frame-ancestors 'none'"
        ),
        "X-Frame-Options: SAMEORIGIN": "content-security-policy: frame-ancestors 'self' MASTER",
        "X-Frame-Options: DENY": "x-frame-options: DENY",
    }
    path = own_task(place, await user_id(place))
    visitor = await passed(place, path)
    sent: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await place.task_port.head(reader)
        head = f"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n{sent[-1]}\r\n\r\n"
        writer.write(head.encode())

    before, place.task_port.serve = place.task_port.serve, serve
    try:
        for policy, expected in policies.items():
            sent.append(policy)
            answer = await at_services(place, path, visitor, *PAGE)
            name, _, value = expected.partition(": ")
            assert answer.headers[name] == value.replace(
                "MASTER", f"http://127.0.0.1:{place.port}"
            )
    finally:
        place.task_port.serve = before
