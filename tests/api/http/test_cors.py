"""Pages of other origins, where the setting lets them call."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from tests.agent_link import Listener, listening
from tests.api.client import Client
from tests.api.small_app import small_app
from tests.scenarios.masters import master

from determined_master.api.app import Api
from determined_master.api.http.cors import Cors
from determined_master.services.access.passwords import Passwords
from determined_master.settings.master import Settings
from determined_master.store.db import Address

PAGE = {"Origin": "https://page.example"}
ASKS = {"Access-Control-Request-Method": "PUT", "Access-Control-Request-Headers": "x-one, x-two"}


@pytest.fixture
def app() -> Iterator[Api]:
    with small_app() as made:
        yield made


@pytest.fixture
def user(app: Api) -> Client:
    return Client(Cors(app), "user")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/api/v1/experiments/1", 200), ("GET", "/api/v1/nothing", 404), ("GET", "/x", 404)],
)
async def test_a_page_may_read_answers_and_errors(
    user: Client, method: str, path: str, status: int
) -> None:
    answer = await user(method, path, headers=PAGE)
    assert answer.status == status
    assert answer.headers["access-control-allow-origin"] == PAGE["Origin"]
    assert answer.headers["access-control-allow-credentials"] == "true"
    assert answer.headers["vary"].split(", ")[-1] == "Origin"


async def test_a_preflight_request_is_answered_without_a_token(app: Api) -> None:
    answer = await Client(Cors(app))("OPTIONS", "/api/v1/me", headers=PAGE | ASKS)
    assert (answer.status, answer.body) == (204, b"")
    assert answer.headers["access-control-allow-methods"] == "GET,HEAD,PUT,PATCH,POST,DELETE"
    assert answer.headers["access-control-allow-headers"] == "x-one, x-two"
    assert answer.headers["x-content-type-options"] == "nosniff"


async def test_a_page_of_another_origin_is_admitted_by_its_own_login(app: Api) -> None:
    answer = await Client(Cors(app))("GET", "/api/v1/experiments/1", headers=PAGE)
    assert answer.status == 401
    assert answer.headers["access-control-allow-origin"] == PAGE["Origin"]


@pytest.mark.parametrize(
    ("path", "headers"), [("/api/v1/experiments/1", {}), ("/proxy/task/", PAGE)]
)
async def test_scripts_and_services_of_tasks_see_nothing_of_it(
    app: Api, user: Client, path: str, headers: dict[str, str]
) -> None:
    for method in ("GET", "OPTIONS"):
        found = await user(method, path, headers=headers)
        assert found == await Client(app, "user")(method, path, headers=headers)


@pytest.fixture
async def listener() -> AsyncIterator[Listener]:
    async with listening() as value:
        yield value


@pytest.mark.slow
@pytest.mark.parametrize("is_enabled", [False, True])
async def test_the_setting_decides(
    database: Address, passwords: Passwords, listener: Listener, is_enabled: bool
) -> None:
    settings = Settings(host="127.0.0.1", enable_cors=is_enabled)
    async with master(database, passwords, listener, settings) as (_, admin):
        answer = await admin("GET", "/api/v1/me", headers=PAGE)
        assert answer.status == 200
        assert ("access-control-allow-origin" in answer.headers) is is_enabled
