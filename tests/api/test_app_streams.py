"""Answers that continue: streams of objects, and sockets."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from tests.api.client import Client
from tests.api.small_app import seen, small_app, tokens

from determined_master.api.app import Api


@pytest.fixture
def app() -> Iterator[Api]:
    with small_app() as made:
        yield made


@pytest.fixture
def user(app: Api) -> Client:
    return Client(app, "user")


async def test_a_stream_is_one_object_a_line(user: Client) -> None:
    answer = await user("GET", "/api/v1/master/logs?limit=2")
    assert answer.headers["grpc-metadata-content-type"] == "application/grpc"
    lines = answer.body.splitlines()
    assert [msgspec.json.decode(line)["result"]["logEntry"]["id"] for line in lines] == [0, 1]
    assert seen.followers == 0


async def test_an_empty_stream_has_an_empty_body_and_no_grpc_header(user: Client) -> None:
    answer = await user("GET", "/api/v1/master/logs")
    assert (answer.status, answer.body) == (200, b"")
    assert "grpc-metadata-content-type" not in answer.headers


async def test_an_error_of_a_stream_has_its_own_form_first_or_late(user: Client) -> None:
    first = await user("GET", "/api/v1/master/logs?limit=-1")
    assert first.status == 400
    assert first.json() == {
        "error": {
            "grpcCode": 3,
            "httpCode": 400,
            "message": "Limit must be >= 0",
            "httpStatus": "Bad Request",
            "details": [],
        }
    }
    late = await user("GET", "/api/v1/master/logs?limit=2&offset=1")
    assert late.status == 200
    assert b'"message":"offset"' in late.body.splitlines()[1]
    unary = await user("GET", "/api/v1/master/logs?limit=x")
    assert unary.json()["error"]["code"] == 3


async def test_an_unexpected_error_ends_a_stream_with_an_error_message(user: Client) -> None:
    """Its status has been sent: another answer would break the connection."""
    answer = await user("GET", "/api/v1/master/logs?limit=2&offset=2")
    first, last = map(msgspec.json.decode, answer.body.splitlines())
    assert (answer.status, first["result"]["logEntry"]["id"]) == (200, 0)
    assert last["error"]["httpCode"] == 500
    assert "the master's log has more under request" in last["error"]["message"]


async def test_a_follower_who_goes_away_ends_the_stream(app: Api) -> None:
    sent: list[Any] = []
    first = asyncio.Event()
    gone = asyncio.Event()

    async def receive() -> dict[str, Any]:
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)
        if message["type"] == "http.response.body":
            first.set()

    scope = {
        "type": "http",
        "method": "GET",
        "path": "/api/v1/master/logs",
        "raw_path": b"/api/v1/master/logs",
        "query_string": b"follow=true&limit=1",
        "headers": [(b"authorization", b"Bearer user")],
    }
    running = asyncio.create_task(app(scope, receive, send))
    await asyncio.wait_for(first.wait(), 60)
    assert seen.followers == 1
    gone.set()
    await asyncio.wait_for(running, 60)
    assert seen.followers == 0


async def test_a_stream_ends_with_an_error_when_its_token_is_revoked() -> None:
    with small_app(recheck_s=0.02) as app:
        running = asyncio.create_task(
            Client(app, "user")("GET", "/api/v1/master/logs?follow=true&limit=1")
        )
        await asyncio.wait_for(tokens.asked_often.wait(), 60)
        assert seen.followers == 1
        tokens.revoked = True
        answer = await asyncio.wait_for(running, 60)
    first, last = (msgspec.json.decode(line) for line in answer.body.splitlines())
    assert first["result"]["logEntry"]["id"] == 0
    assert last["error"]["grpcCode"] == 16
    assert seen.followers == 0


async def open_socket(app: Api, path: str, token: str, *, answers: bool) -> list[Any]:
    """What the server sends to a client that connects and says nothing."""
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "websocket",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(b"authorization", f"Bearer {token}".encode())],
        "extensions": {"websocket.http.response": {}} if answers else {},
    }
    await asyncio.wait_for(app(scope, receive, send), 60)
    return sent


async def test_a_socket_is_opened_for_a_token(app: Api) -> None:
    sent = await open_socket(app, "/echo/x%20y", "user", answers=True)
    assert [m["type"] for m in sent] == ["websocket.accept", "websocket.send", "websocket.close"]
    assert sent[1]["text"] == "u at x y"


@pytest.mark.parametrize(
    ("path", "token", "status"),
    [("/echo/x", "no", 401), ("/echo/x", "task", 403), ("/nope", "user", 404)],
)
async def test_a_socket_is_refused_with_a_status_where_the_server_can(
    app: Api, path: str, token: str, status: int
) -> None:
    start, body = await open_socket(app, path, token, answers=True)
    assert (start["type"], start["status"]) == ("websocket.http.response.start", status)
    assert b"message" in body["body"]
    [closed] = await open_socket(app, path, token, answers=False)
    assert closed["type"] == "websocket.close"
