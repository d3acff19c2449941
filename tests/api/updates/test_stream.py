"""The stream of changed entities over its WebSocket."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.api.client import Client
from tests.api.conftest import token_of
from tests.api.hidden import VIEWER, give, hidden_world, ok, take
from tests.api.master import running_app
from tests.api.samples import World

from determined_master.api.app import Api
from determined_master.app import App
from determined_master.services.catalog import Services

ALL = {
    "projects": {"workspace_ids": [1], "since": 0},
    "models": {"workspace_ids": [1], "since": 0},
    "modelversions": {"user_ids": [1], "since": 0},
}


class Socket:
    """A client's side of one WebSocket."""

    def __init__(self, api: Api, token: str) -> None:
        self._to_server: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._to_client: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._to_server.put_nowait({"type": "websocket.connect"})
        headers = [(b"authorization", f"Bearer {token}".encode())] if token else []
        self.scope = {
            "type": "websocket",
            "path": "/stream",
            "raw_path": b"/stream",
            "query_string": b"",
            "headers": headers,
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 8080),
            "scheme": "ws",
            "extensions": {"websocket.http.response": {}},
        }
        self.task = asyncio.create_task(
            api(self.scope, self._to_server.get, self._to_client.put)  # type: ignore[arg-type]
        )

    def send(self, message: Any) -> None:
        text = message if isinstance(message, str) else json.dumps(message)
        self._to_server.put_nowait({"type": "websocket.receive", "text": text})

    def subscribe(self, sync_id: str = "s", known: Any = None, **wanted: Any) -> None:
        self.send({"sync_id": sync_id, "known": known or {}, "subscribe": wanted})

    async def event(self) -> dict[str, Any]:
        async with asyncio.timeout(20):
            return await self._to_client.get()

    async def frame(self) -> dict[str, Any]:
        event = await self.event()
        assert event["type"] == "websocket.send", event
        frame: dict[str, Any] = json.loads(event["text"])
        return frame

    async def synchronized(self) -> list[dict[str, Any]]:
        """The frames of one subscription, without the first and the last.

        Changes for the subscription before it may still be on their way: they come first.
        """
        while "complete" not in (first := await self.frame()):
            pass
        assert first["complete"] is False
        found = []
        while (frame := await self.frame()) != {**first, "complete": True}:
            found.append(frame)
        return found

    async def leave(self) -> None:
        self._to_server.put_nowait({"type": "websocket.disconnect", "code": 1000})
        async with asyncio.timeout(20):
            await self.task


@contextlib.asynccontextmanager
async def opened(api: Api, token: str) -> AsyncIterator[Socket]:
    """A socket that the server has accepted."""
    socket = Socket(api, token)
    assert (await socket.event())["type"] == "websocket.accept"
    yield socket
    await socket.leave()


@pytest.fixture
async def app(database, pool, passwords) -> AsyncIterator[App]:
    switches = ("streaming_updates",)
    async with running_app(database, pool, passwords, feature_switches=switches) as made:
        yield made


@pytest.fixture
async def socket(api: Api, services: Services) -> AsyncIterator[Socket]:
    """Of the admin."""
    async with opened(api, await token_of(services, "admin")) as made:
        yield made


async def test_a_subscription_gets_all_that_is_there(socket: Socket) -> None:
    socket.subscribe(**ALL)
    deleted, project, *others = await socket.synchronized()
    assert deleted == {"projects_deleted": ""}
    assert others == [{"models_deleted": ""}, {"modelversions_deleted": ""}]
    assert project["project"].pop("created_at").endswith("Z")
    assert project["project"].pop("seq") >= 0
    assert project == {
        "project": {
            "id": 1,
            "name": "Uncategorized",
            "description": "",
            "archived": False,
            "notes": None,
            "workspace_id": 1,
            "user_id": 1,
            "immutable": True,
            "state": "UNSPECIFIED",
            "key": "UNCAT",
        }
    }


async def test_an_empty_subscription_gets_just_the_two_marks(socket: Socket) -> None:
    socket.subscribe("one")
    assert await socket.synchronized() == []


async def test_changes_arrive_with_rising_numbers(socket: Socket, admin: Client) -> None:
    socket.subscribe(**ALL)
    await socket.synchronized()
    body = {"name": "sm", "metadata": {"k": 1}, "labels": ["a"]}
    await ok(admin, "POST", "/api/v1/models", body)
    made = (await socket.frame())["model"]
    assert (made["name"], made["metadata"], made["labels"]) == ("sm", {"k": 1}, ["a"])
    await ok(admin, "PATCH", "/api/v1/models/sm", {"description": "zz"})
    changed = (await socket.frame())["model"]
    assert (changed["description"], changed["seq"] > made["seq"]) == ("zz", True)
    await ok(admin, "DELETE", "/api/v1/models/sm")
    assert await socket.frame() == {"models_deleted": str(made["id"])}


async def test_an_entity_leaves_the_filter_as_if_it_were_deleted(
    socket: Socket, admin: Client
) -> None:
    place = (await ok(admin, "POST", "/api/v1/workspaces", {"name": "w"}))["workspace"]["id"]
    await ok(admin, "POST", "/api/v1/models", {"name": "mover"})
    socket.subscribe(models={"workspace_ids": [1]})
    _, shown = await socket.synchronized()
    await ok(admin, "PATCH", "/api/v1/models/mover", {"workspaceId": place})
    assert await socket.frame() == {"models_deleted": str(shown["model"]["id"])}


async def test_late_news_of_what_the_client_has_sends_nothing(
    socket: Socket, admin: Client, pool
) -> None:
    for name in ("a", "b"):
        await ok(admin, "POST", "/api/v1/models", {"name": name})
    socket.subscribe(models={"workspace_ids": [1]})
    _, a, _ = await socket.synchronized()
    await pool.execute("SELECT pg_notify('entity_updates', $1)", f"model {a['model']['id']}")
    await ok(admin, "PATCH", "/api/v1/models/b", {"description": "new"})
    assert (await socket.frame())["model"]["name"] == "b"


async def test_known_entities_come_again_only_when_they_are_newer(
    socket: Socket, admin: Client
) -> None:
    for name in ("a", "b"):
        await ok(admin, "POST", "/api/v1/models", {"name": name})
    socket.subscribe(models={"workspace_ids": [1]})
    _, a, b = await socket.synchronized()
    since = a["model"]["seq"]
    ids = f"{a['model']['id']},{b['model']['id']},99"
    socket.subscribe("two", {"models": ids}, models={"workspace_ids": [1], "since": since})
    assert await socket.synchronized() == [{"models_deleted": "99"}, b]


@pytest.mark.parametrize("text", ["nonsense", '{"subscribe": {"projects": {}}}'])
async def test_a_malformed_message_ends_the_stream(socket: Socket, text: str) -> None:
    socket.send(text)
    assert (await socket.event())["type"] == "websocket.close"


async def test_a_lost_connection_to_the_database_loses_no_change(
    socket: Socket, admin: Client, pool: Any
) -> None:
    socket.subscribe(models={"workspace_ids": [1]})
    await socket.synchronized()
    query = """
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE query LIKE 'LISTEN %entity_updates%' AND datname = current_database()
    """
    async with pool.acquire() as conn:
        assert [row[0] for row in await conn.fetch(query)] == [True]
    await ok(admin, "POST", "/api/v1/models", {"name": "meanwhile"})
    while "model" not in (frame := await socket.frame()):
        pass
    assert frame["model"]["name"] == "meanwhile"


async def test_the_stream_ends_with_its_token(
    api: Api, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("determined_master.api.updates.stream.RECHECK_S", 0.05)
    token = await token_of(services, "determined")
    async with opened(api, token) as socket:
        await ok(Client(api, token), "POST", "/api/v1/auth/logout")
        assert await socket.event() == {"type": "websocket.close", "code": 1008}


async def test_a_stream_needs_a_token(api: Api) -> None:
    socket = Socket(api, "")
    assert (await socket.event())["status"] == 401


async def test_without_the_switch_there_is_no_stream(database, pool, passwords) -> None:
    async with running_app(database, pool, passwords) as app:
        socket = Socket(app.asgi, await token_of(app.services, "admin"))
        assert (await socket.event())["status"] == 404


async def test_roles_decide_which_entities_are_sent(postgres, passwords) -> None:
    switches = ("streaming_updates",)
    async with hidden_world(postgres, passwords, feature_switches=switches) as world:
        await _see_by_roles(world)


async def _see_by_roles(world: World) -> None:
    workspace = int(world.names["workspace"])
    api = world.clients["user"].app
    wanted = {
        "projects": {"workspace_ids": [workspace]},
        "models": {"workspace_ids": [workspace]},
        "modelversions": {"user_ids": [1]},
    }
    async with opened(api, world.clients["user"].token or "") as socket:
        socket.subscribe(**wanted)
        assert [f for f in await socket.synchronized() if not next(iter(f)).endswith("d")] == []
        await give(world, VIEWER, workspace)
        socket.subscribe(**wanted)
        names = [next(iter(f)) for f in await socket.synchronized()]
        assert [n for n in names if not n.endswith("d")] == ["project", "model", "modelversion"]
        await take(world, VIEWER, workspace)
        await ok(world.clients["admin"], "PATCH", "/api/v1/models/mod", {"notes": "hush"})
        assert await socket.frame() == {"models_deleted": "1"}
