"""The live channel against floods, and topics, messages and cursors that no page sends."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from tests.api.cases_experiments import until_true
from tests.api.client import Client
from tests.api.samples import World
from tests.api.updates.live_client import LiveSocket
from tests.api.updates.live_client import live as opened

from determined_master.api.app import Api
from determined_master.api.updates.live import MAX_MALFORMED
from determined_master.domain.updates.live import MAX_MESSAGE
from determined_master.services.updates.live import hub
from determined_master.services.updates.live.connection import MAX_FRAMES, LiveConnection
from determined_master.services.updates.live.hub import MAX_TOPICS, LiveUpdates

ODD = [
    "",
    "exp",
    "exp:",
    "exp:0",
    "exp:-1",
    "exp:007",
    "exp:1e3",
    "exp:2147483648",
    "exp:99999999999999999999999999",
    "exp:\u0661",
    "exp:1; DROP TABLE experiments",
    "run:1,2",
    "project:1",
    "project:/runs",
    "project:all/runs/",
    "logs:",
    "logs:\x00",
    "logs:" + "x" * 400,
    "queue:",
    "queue:../default",
    "agents:1",
    "me:2",
    "ME",
    "__proto__",
]


pytestmark = pytest.mark.asyncio(loop_scope="module")


@contextlib.asynccontextmanager
async def live(client: Client) -> AsyncIterator[LiveSocket]:
    async with opened(_api(client), client.token) as socket:
        yield socket


def _api(client: Client) -> Api:
    app: Any = client.app
    return app


def _viewer(world: World, name: str) -> LiveConnection:
    [viewer] = [v for v in world.services[LiveUpdates]._viewers if v.caller.username == name]
    return viewer


async def test_10000_subscriptions_leave_64_topics_and_an_open_channel(world: World) -> None:
    async with live(world.clients["user"]) as socket:
        for n in range(10_000):
            socket.subscribe(f"exp:{n + 1}" if n % 2 else "me")
        codes = set()
        while (frame := await socket.frame()).get("topic") != "exp:10000":
            if frame["op"] == "error":
                codes.add(frame["data"]["code"])
        assert codes == {404}
        viewer = _viewer(world, "determined")
        assert set(viewer.topics) == {"me"}
        socket.send({"op": "ping"})
        assert await socket.frame() == {"op": "heartbeat"}


async def test_the_65th_topic_is_refused(world: World) -> None:
    async with live(world.clients["admin"]) as socket:
        names = [f"project:{n}/runs" for n in range(MAX_TOPICS + 1)]
        made = [await socket.subscribed(names[0])]
        viewer = _viewer(world, "admin")
        viewer.topics.update({f"held:{n}": viewer.topics[names[0]] for n in range(MAX_TOPICS - 1)})
        refused = await socket.subscribed("me")
        assert (made[0]["op"], refused["data"]["code"]) == ("upsert", 429)
        for name in list(viewer.topics):
            world.services[LiveUpdates].unsubscribe(viewer, name)
        assert (await socket.subscribed("me"))["op"] == "upsert"


@pytest.mark.parametrize("topic", ODD)
async def test_a_topic_of_no_known_form_is_refused(world: World, topic: str) -> None:
    async with live(world.clients["user"]) as socket:
        socket.subscribe(topic)
        frame = await socket.frame()
        assert frame["op"] == "error"
        assert frame["data"]["code"] in (400, 404)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "{",
        '{"op":1}',
        '{"op":"subscribe","topic":7}',
        '{"op":"steal"}',
        "[" * 5000,
        '{"op":"subscribe","topic":"me","cursor":{}}',
        "\ud800",
    ],
)
async def test_a_malformed_message_gets_an_error_and_nothing_else(world: World, text: str) -> None:
    async with live(world.clients["user"]) as socket:
        socket.send(text)
        assert (await socket.frame())["data"]["code"] == 400
        assert (await socket.subscribed("me"))["op"] == "upsert"


async def test_a_binary_message_is_refused(world: World) -> None:
    async with live(world.clients["user"]) as socket:
        socket.send_bytes(b'{"op":"ping"}')
        assert "binary" in (await socket.frame())["data"]["message"]


async def test_too_many_malformed_messages_close_the_channel(world: World) -> None:
    async with live(world.clients["user"]) as socket:
        for _ in range(MAX_MALFORMED + 1):
            socket.send("nonsense")
        assert await socket.closed() == 1008


@pytest.mark.parametrize("is_binary", [False, True])
async def test_a_huge_message_closes_the_channel(world: World, is_binary: bool) -> None:
    async with live(world.clients["user"]) as socket:
        if is_binary:
            socket.send_bytes(b"x" * (MAX_MESSAGE + 1))
        else:
            socket.send("x" * (MAX_MESSAGE + 1))
        assert await socket.closed() == 1009


@pytest.mark.parametrize(
    "cursor",
    [
        "x",
        "-1",
        "9" * 30,
        "1~2~3:4:",
        "5~1~9:4:",
        "5~1~3:9:8.7",
        "5~1~3:9:" + ".".join(map(str, range(3, 600))),
        "5~1~3:9:';",
        "1~0~1:99999999999999999999:",
    ],
)
async def test_a_cursor_that_no_frame_had_is_refused(world: World, cursor: str) -> None:
    async with live(world.clients["admin"]) as socket:
        assert (await socket.subscribed("logs:x", cursor))["data"]["code"] in (400, 404)


async def test_a_user_has_so_many_connections_and_no_more(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "MAX_CONNECTIONS_A_USER", 3)
    async with (
        live(world.clients["user"]),
        live(world.clients["user"]),
        live(world.clients["user"]),
    ):
        user = world.clients["user"]
        assert (await LiveSocket(_api(user), user.token).event())["status"] == 429
        assert (await user("GET", "/api/ui/v1/live/events?topics=me")).status == 429
        async with live(world.clients["admin"]) as other:
            await other.subscribed("me")
    async with live(world.clients["user"]) as again:
        await again.subscribed("me")
    assert world.services[LiveUpdates].connections == 0


async def test_a_client_that_reads_nothing_is_not_read_and_holds_nothing_up(world: World) -> None:
    async with live(world.clients["user"]) as socket, live(world.clients["admin"]) as other:
        socket.reads.clear()
        for _ in range(5_000):
            socket.send({"op": "ping"})
        await other.subscribed("me")
        viewer = _viewer(world, "determined")
        await until_true(_see(viewer), bool, [])
        other.send({"op": "ping"})
        assert await other.frame() == {"op": "heartbeat"}
        assert len(viewer._frames) <= MAX_FRAMES + 1


def _see(viewer: LiveConnection) -> Callable[[], Awaitable[bool]]:
    async def is_full() -> bool:
        return viewer.is_full

    return is_full
