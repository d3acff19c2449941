"""Who may have a topic: at the subscription, and when roles and tokens change."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.api.client import Client
from tests.api.conftest import token_of
from tests.api.hidden import EDITOR, MARK, VIEWER, give, hidden_world, ok, take
from tests.api.samples import World
from tests.api.updates.live_client import LiveSocket, live

from determined_master.api.app import Api
from determined_master.services.catalog import Services
from determined_master.services.updates.live.hub import LiveUpdates

RECHECKS = "determined_master.api.updates.live"


@pytest.fixture
async def hidden(postgres, passwords) -> AsyncIterator[World]:
    async with hidden_world(postgres, passwords) as world:
        yield world


def _api(client: Client) -> Api:
    app: Any = client.app
    return app


def _things(world: World) -> list[str]:
    names = world.names
    project = names.get("project_id") or names["project"]
    return [
        f"exp:{names['experiment_id']}",
        f"run:{names['trial_id']}",
        f"metrics:{names['trial_id']}",
        f"logs:{names['generic']}",
        f"project:{project}/runs",
    ]


async def test_a_hidden_thing_gets_the_same_error_as_a_missing_one(hidden: World) -> None:
    user = hidden.clients["user"]
    missing = {"exp": "2147483647", "run": "2147483647", "metrics": "2147483647"}
    missing |= {"logs": "nothing", "project": "2147483647/runs"}
    async with live(_api(user), user.token) as socket:
        for topic in _things(hidden):
            kind, _, name = topic.partition(":")
            refused = (await socket.subscribed(topic))["data"]
            unknown = (await socket.subscribed(f"{kind}:{missing[kind]}"))["data"]
            assert (refused["code"], unknown["code"]) == (404, 404)
            bare, other = name.removesuffix("/runs"), missing[kind].removesuffix("/runs")
            assert refused["message"].replace(bare, other) == unknown["message"]


async def test_nothing_of_a_hidden_workspace_is_sent(hidden: World) -> None:
    admin, user = hidden.clients["admin"], hidden.clients["user"]
    topics = ("project:all/runs", "agents", "tasks", "models", "me", "queue:default")
    async with live(_api(user), user.token) as socket, live(_api(admin), admin.token) as seeing:
        for topic in topics:
            await socket.subscribed(topic)
            await seeing.subscribed(topic)
        path = f"/api/v1/experiments/{hidden.names['experiment_id']}"
        await ok(admin, "POST", f"{path}/archive")
        await ok(admin, "PATCH", "/api/v1/models/mod", {"notes": f"{MARK} more"})
        body = {"config": {"entrypoint": ["true"]}, "workspaceId": int(hidden.names["workspace"])}
        await ok(admin, "POST", "/api/v1/commands", body)
        seen: set[str] = set()
        while not {"project:all/runs", "tasks", "models", "me"} <= seen:
            seen.add((await seeing.frame())["topic"])
        public = {"workspaceId": 1, "name": "open"}
        model = (await ok(admin, "POST", "/api/v1/models", public))["model"]["id"]
        while (frame := await seeing.frame())["topic"] != "models":
            pass
        assert frame["data"]["changed"] == [model]
        socket.send({"op": "ping"})
        hidden_topics = {"project:all/runs", "tasks", "models", "me"}
        while (frame := await socket.frame())["op"] != "heartbeat":
            assert frame["topic"] not in hidden_topics, frame


async def test_a_role_that_is_taken_away_ends_the_topics_that_it_gave(
    hidden: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{RECHECKS}.LEAST_RECHECK_S", 0.05)
    user, workspace = hidden.clients["user"], int(hidden.names["workspace"])
    await give(hidden, EDITOR, workspace)
    async with live(_api(user), user.token) as socket:
        for topic in (*_things(hidden), "tasks", "me"):
            assert (await socket.subscribed(topic))["op"] in ("upsert", "append")
        await take(hidden, EDITOR, workspace)
        ends: dict[str, Any] = {}
        while not {*_things(hidden), "tasks", "me"} <= ends.keys():
            frame = await socket.frame()
            ends[frame["topic"]] = frame
        for topic in _things(hidden):
            assert ends[topic]["data"]["code"] == 404, topic
        assert ends["tasks"]["op"] == "reset"
        assert ends["me"]["data"] == {"event": "permissions"}


async def test_a_role_that_is_given_shows_more_after_a_reset(
    hidden: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{RECHECKS}.LEAST_RECHECK_S", 0.05)
    admin, user = hidden.clients["admin"], hidden.clients["user"]
    async with live(_api(user), user.token) as socket:
        await socket.subscribed("project:all/runs")
        await give(hidden, VIEWER, int(hidden.names["workspace"]))
        await socket.frame_of("project:all/runs", "reset")
        path = f"/api/v1/experiments/{hidden.names['experiment_id']}"
        await ok(admin, "POST", f"{path}/archive")
        [run] = (await socket.frame_of("project:all/runs"))["data"]["runs"]
        assert (run["id"], run["archived"]) == (int(hidden.names["trial_id"]), True)


async def test_the_channel_closes_when_its_session_ends(
    api: Api, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{RECHECKS}.LEAST_RECHECK_S", 0.05)
    token = await token_of(services, "determined")
    async with live(api, token) as socket:
        await socket.subscribed("me")
        await ok(Client(api, token), "POST", "/api/v1/auth/logout")
        async with asyncio.timeout(5):
            assert await socket.closed() == 4401


async def test_another_users_events_are_not_mine(
    api: Api, services: Services, admin: Client
) -> None:
    async with (
        live(api, await token_of(services, "determined")) as theirs,
        live(api, admin.token) as mine,
    ):
        for socket in (theirs, mine):
            await socket.subscribed("me")
        body = {"config": {"entrypoint": ["true"]}, "workspaceId": 1}
        await ok(admin, "POST", "/api/v1/commands", body)
        assert (await mine.frame_of("me"))["data"]["event"] == "task_state"
        theirs.send({"op": "ping"})
        assert await theirs.frame() == {"op": "heartbeat"}


async def test_a_channel_needs_a_token(api: Api) -> None:
    assert (await LiveSocket(api, "").event())["status"] == 401


@pytest.mark.parametrize(
    ("origin", "opens"), [("http://test", True), ("http://other", False), ("", False)]
)
async def test_the_cookie_opens_a_channel_for_pages_of_the_master_only(
    api: Api, services: Services, origin: str, opens: bool
) -> None:
    headers = {"cookie": f"auth={await token_of(services, 'determined')}"}
    headers |= {"origin": origin} if origin else {}
    socket = LiveSocket(api, "", headers)
    event = await socket.event()
    if opens:
        assert event["type"] == "websocket.accept"
        await socket.leave()
    else:
        assert event["status"] == 403


async def test_events_end_with_their_session(
    api: Api, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{RECHECKS}.LEAST_RECHECK_S", 0.05)
    token = await token_of(services, "determined")
    client = Client(api, token)
    path = "/api/ui/v1/live/events?topics=me,exp:77"
    reading = asyncio.create_task(client("GET", path))
    async with asyncio.timeout(60):
        while True:
            if any(viewer.has("me") for viewer in services[LiveUpdates]._viewers):
                break
            await asyncio.sleep(0.01)
    await ok(Client(api, token), "POST", "/api/v1/auth/logout")
    answer = await reading
    assert answer.headers["content-type"] == "text/event-stream"
    frames = [json.loads(e[6:]) for e in answer.body.decode().split("\n\n") if e]
    assert all(e.startswith("data: ") for e in answer.body.decode().split("\n\n") if e)
    assert [(f["topic"], f["op"]) for f in frames[:2]] == [("me", "upsert"), ("exp:77", "error")]
    assert frames[-1]["data"]["code"] == 401


@pytest.mark.parametrize("query", ["", "topics=", "topics=me&cursors=a,b", "topics=" + "me," * 65])
async def test_events_want_topics(admin: Client, query: str) -> None:
    answer = await admin("GET", f"/api/ui/v1/live/events?{query}")
    assert (answer.status, "topics=A,B" in answer.text) == (400, True)
