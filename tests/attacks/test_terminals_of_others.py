"""Terminals of shells of other users, and of one's own from pages and programs of others."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
import pytest_asyncio
from tests.api import cases_experiments as scene
from tests.api.client import Client
from tests.api.hidden import VIEWER, give, take
from tests.api.proxy.proxied import Backend, listening
from tests.api.samples import World
from tests.api.terminal import TerminalSocket, launch, run_shell
from tests.attacks.tasks import as_code_of, as_task

from determined_master.api.app import Api
from determined_master.api.tasks.terminals import Close
from determined_master.services.tasks.interactive_tasks import InteractiveTasks
from determined_master.services.tasks.proxies import Proxies

pytestmark = pytest.mark.asyncio(loop_scope="module")
MISSING = "a7d3c2f4-5e1b-4c8d-9f60-123456789abc"
PAGE = "http://page.example"


async def status(
    client: Client, shell_id: str, token: str = "", headers: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """How the master refuses a terminal; an open one fails the test."""
    app: Any = client.app
    api: Api = app
    socket = TerminalSocket(api, token, shell_id, headers)
    try:
        return await socket.refusal()
    finally:
        await socket.leave()


@pytest_asyncio.fixture(loop_scope="module")
async def server() -> AsyncIterator[Backend]:
    """Stands for an ssh server that nobody may reach."""
    async with listening() as made:
        yield made
        assert not made.closed.is_set(), "somebody was connected"


@pytest_asyncio.fixture(loop_scope="module")
async def shell(world: World, server: Backend) -> AsyncIterator[str]:
    """A running shell of the user."""
    shell_id = await launch(world.clients["user"])
    task = run_shell(world.services, shell_id, server.port)
    yield shell_id
    task.end()


async def test_an_admin_who_was_not_let_in_opens_no_terminal(world: World, shell: str) -> None:
    admin = world.clients["admin"]
    code, text = await status(admin, shell, admin.token)
    assert (code, f"det shell share {shell}" in text) == (Close.REFUSED, True)


async def test_another_user_opens_no_terminal(world: World, server: Backend) -> None:
    shell_id = await launch(world.clients["admin"])
    task = run_shell(world.services, shell_id, server.port)
    user = world.clients["user"]
    assert (await status(user, shell_id, user.token))[0] == Close.NOT_RUNNING
    task.end()


@pytest.mark.parametrize("token", ["", "x", "v2.public.x"])
async def test_a_stranger_opens_no_terminal(world: World, shell: str, token: str) -> None:
    assert (await status(world.clients["user"], shell, token))[0] == 401


async def test_a_read_of_the_shell_from_this_address_replaces_no_token(
    world: World, shell: str
) -> None:
    """The tunnel of 0.38.1 does not: pages send their login."""
    user = world.clients["user"]
    world.services[InteractiveTasks].visits.record(shell, "127.0.0.1", user.token)
    assert (await status(user, shell))[0] == 401


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": PAGE},
        {"origin": "http://test:9080"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site", "origin": "http://test:9080"},
    ],
)
async def test_a_page_of_another_origin_opens_no_terminal_with_the_login_cookie(
    world: World, shell: str, headers: dict[str, str]
) -> None:
    user = world.clients["user"]
    sent = {"cookie": f"auth={user.token}", **headers}
    assert (await status(user, shell, headers=sent))[0] == 403


async def test_tokens_of_tasks_open_no_terminal_of_their_own_user(
    world: World, server: Backend
) -> None:
    admin = world.clients["admin"]
    shell_id = await launch(admin)
    task = run_shell(world.services, shell_id, server.port)
    names = await scene.submitted(world)
    tokens = await scene.task_tokens(world)
    code = await as_code_of(world, names["allocation_id"])
    own = await as_task(world, names["allocation_id"])
    for token in (code.token, own.token):
        assert (await status(admin, shell_id, token))[0] == 403
    assert (await status(admin, shell_id, tokens.notebook_token(shell_id)))[0] == 401
    task.end()


async def test_ids_that_name_no_shell_open_no_terminal(world: World, server: Backend) -> None:
    user = world.clients["user"]
    body = {"config": {"resources": {"slots": 0}}}
    notebook = (await user("POST", "/api/v1/notebooks", body)).json()["notebook"]["id"]
    task = run_shell(world.services, notebook, server.port)
    for name in (notebook, MISSING, "x", "%00", "..%2f..", "0"):
        assert (await status(user, name, user.token))[0] in (400, 404, Close.NOT_RUNNING), name
    task.end()


async def test_a_hidden_shell_is_refused_like_a_missing_one(
    hidden: World, server: Backend
) -> None:
    shell_id, user = hidden.names["shell"], hidden.clients["user"]
    missing = await status(user, MISSING, user.token)
    assert missing[0] == 404
    assert await status(user, shell_id, user.token) == (404, missing[1].replace(MISSING, shell_id))
    task = run_shell(hidden.services, shell_id, server.port)
    assert await status(user, shell_id, user.token) == (404, missing[1].replace(MISSING, shell_id))
    workspace_id = int(hidden.names["workspace"])
    await give(hidden, VIEWER, workspace_id)
    try:
        assert (await status(user, shell_id, user.token))[0] == Close.NOT_RUNNING
    finally:
        await take(hidden, VIEWER, workspace_id)
    task.end()
    assert hidden.services[Proxies].find(shell_id) is None
