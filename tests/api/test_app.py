"""Letting requests in, merging them into messages, and telling what went wrong."""

from __future__ import annotations

import gzip
import logging
import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from tests.api.client import Client
from tests.api.small_app import HERE, ROUTES, seen, small_app

from determined_master.api.app import Api
from determined_master.api.http.bodies import MAX_LARGE_BODY_BYTES, MAX_STRANGERS_BODY_BYTES
from determined_master.api.http.gateway import PRETTY_TO_BYTES
from determined_master.api.http.protojson.marks import MAX_MARKS
from determined_master.api.table import all_routes
from determined_wire.rest.endpoints import ENDPOINTS


@pytest.fixture
def app() -> Iterator[Api]:
    with small_app() as made:
        yield made


@pytest.fixture
def user(app: Api) -> Client:
    return Client(app, "user")


@pytest.fixture
def task(app: Api) -> Client:
    return Client(app, "task")


async def test_only_public_routes_need_no_token(app: Api) -> None:
    keys = {(r.method, r.path) for r in ROUTES}
    keys |= {(e.method, e.path) for e in ENDPOINTS}
    keys = {key for key in keys if key[0] != "WS"}  # see the tests of sockets
    # Those that authenticate by themselves have their own tests.
    public = {(r.method, r.path) for r in all_routes() if r.is_public or r.authenticates}
    for method, path in sorted(keys - public):
        target = re.sub(r"{[^}]+}", "1", path)
        for headers in ({}, {"authorization": "Bearer no"}, {"cookie": "auth=no"}):
            answer = await Client(app)(method, target, {}, headers=headers)
            is_bad_at_a_service = headers and path.startswith("/proxy/")
            assert answer.status == (303 if is_bad_at_a_service else 401), (method, path)


async def test_unknown_routes_are_404_and_wrong_methods_405(user: Client) -> None:
    for path in ("/api/v1/nope", "/api/v1//me", "/api/v1%2Fme"):
        assert (await user("GET", path)).status == 404
    wrong = await user("DELETE", "/api/v1/me")
    assert (wrong.status, wrong.headers["allow"]) == (405, "GET")
    head = await user("HEAD", "/api/v1/me")
    assert (head.status, head.body) == (405, b"")
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert (await user("POST", "/api/v1/me", b"a=b", headers=form)).status == 415
    assert (await user("POST", "/api/v1/experiments/2/pause/")).status == 200


async def test_plain_routes_have_their_own_errors(app: Api, user: Client) -> None:
    unknown = await user("GET", "/nope")
    assert (unknown.status, unknown.body) == (404, b'{"message":"api not found: GET /nope"}\n')
    assert (await Client(app)("GET", "/nope")).json() == {"message": "Unauthorized"}
    assert (await Client(app)("GET", "/scim/v2/Users")).status == 404
    given = await user("POST", "/things/a%20b/c/d", b"hi")
    assert given.json() == {"name": "a b", "path": "c/d", "body": "hi", "user": "u"}
    assert given.headers["content-type"] == "application/json; charset=UTF-8"
    assert given.body.endswith(b"\n")


@pytest.mark.parametrize(
    ("headers", "text"),
    [
        ({}, "token missing"),
        ({"authorization": "bearer user"}, "invalid credentials"),
        ({"authorization": "Basic user"}, "invalid credentials"),
        ({"authorization": "user"}, "invalid credentials"),
        ({"cookie": "other=1"}, "token missing"),
        ({"cookie": "auth=no"}, "invalid credentials"),
    ],
)
async def test_only_bearer_tokens_and_the_cookie_are_tokens(
    app: Api, headers: dict[str, str], text: str
) -> None:
    answer = await Client(app)("GET", "/api/v1/experiments/1", headers=headers)
    assert (answer.status, answer.text) == (401, text)


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": "Bearer user"},
        {"cookie": "a=b; auth=user"},
        {"grpc-metadata-x-allocation-token": "Bearer user"},
    ],
)
async def test_a_users_token_is_read_from_three_places(app: Api, headers: dict[str, str]) -> None:
    assert (await Client(app)("GET", "/api/v1/experiments/1", headers=headers)).status == 200


async def test_a_task_reaches_its_own_things_by_either_header_and_nothing_else(
    app: Api, task: Client
) -> None:
    own: dict[str, Any] = {"metrics": {"stepsCompleted": 1}, "group": "g"}
    assert (await task("POST", "/api/v1/trials/5/metrics", own)).status == 200
    header = {"grpc-metadata-x-allocation-token": "Bearer task"}
    other = Client(app)
    assert (await other("POST", "/api/v1/trials/5/metrics", own, headers=header)).status == 200
    # the path wins over a body that claims another trial
    claimed = {"metrics": {"trialId": 5}, "group": "g"}
    assert (await task("POST", "/api/v1/trials/6/metrics", claimed)).status == 404
    lines = {"logs": [{"taskId": "7.a", "log": "x"}, {"taskId": "8.b", "log": "x"}]}
    assert (await task("POST", "/api/v1/task/logs", lines)).status == 404
    assert (await task("POST", "/api/v1/task/logs", {"logs": lines["logs"][:1]})).status == 200
    assert (await task("GET", "/api/v1/experiments/7")).status == 403
    assert (await task("POST", "/api/v1/experiments/2/pause")).status == 403
    assert (await task("POST", "/things/a/b", b"")).status == 403
    assert len(seen.requests) == 3


async def test_no_route_outside_its_list_lets_a_task_in(task: Client) -> None:
    for item in HERE:
        if item.kind != "socket" and item.task is None:
            target = re.sub(r"{[^}]+}", "2", item.path)
            assert (await task(item.method, target)).status == 403


async def test_errors_have_the_two_forms_of_the_public_api(user: Client) -> None:
    state = await user("POST", "/api/v1/experiments/3/pause")
    assert state.status == 400
    assert state.body == (
        b'{"error":{"code":9,"reason":"FailedPrecondition",'
        b'"error":"experiment 3 in terminal state"}}\n'
    )
    path = await user("GET", "/api/v1/experiments/abc")
    assert path.status == 400
    assert path.text.startswith("type mismatch, parameter: experiment_id, error: ")


async def test_an_unexpected_error_is_logged_with_an_id_and_answered_without_details(
    user: Client, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        answer = await user("GET", "/api/v1/experiments/0")
    assert (answer.status, answer.json()["error"]["code"]) == (500, 13)
    assert "hunter2" not in answer.text
    [record] = [r for r in caplog.records if r.exc_info]
    assert record.__dict__["request_id"] in answer.text


async def test_a_passed_deadline_is_reported_as_worth_a_retry(user: Client) -> None:
    """As of a connection to the database that could not be opened in time."""
    answer = await user("GET", "/api/v1/experiments/408")
    assert (answer.status, answer.json()["error"]["code"]) == (503, 14)


async def test_a_full_disk_is_reported_as_worth_a_retry_with_the_remedy(user: Client) -> None:
    answer = await user("GET", "/api/v1/experiments/507")
    assert (answer.status, answer.json()["error"]["code"]) == (503, 14)
    assert "No space left on device" in answer.text
    assert "free some space" in answer.text


async def test_headers_gzip_and_pretty(user: Client) -> None:
    small = await user("GET", "/api/v1/experiments/1", headers={"accept-encoding": "gzip"})
    assert "content-encoding" not in small.headers
    assert small.headers["grpc-metadata-content-type"] == "application/grpc"
    assert small.headers["x-content-type-options"] == "nosniff"
    assert small.headers["vary"] == "Accept-Encoding"
    for length in (5000, 400_000):
        target = f"/api/v1/experiments/{length}"
        zipped = await user("GET", target, headers={"accept-encoding": "gzip, deflate"})
        assert zipped.headers["content-encoding"] == "gzip"
        assert len(zipped.body) < 3000
        config = msgspec.json.decode(gzip.decompress(zipped.body))["config"]
        assert len(config["text"]) == length
    for target, headers in (
        ("/api/v1/experiments/1?pretty", {}),
        ("/api/v1/experiments/1", {"accept": "application/json+pretty"}),
    ):
        assert b'\n    "experiment": {' in (await user("GET", target, headers=headers)).body
    large = (await user("GET", f"/api/v1/experiments/{PRETTY_TO_BYTES}?pretty")).body
    assert large.startswith(b'{"experiment":'), "to indent it holds up all others"


@pytest.mark.slow
@pytest.mark.parametrize("target", ["/api/v1/task/logs", "/task-logs"])
async def test_a_body_of_too_many_values_is_refused(user: Client, target: str) -> None:
    body = b'{"x": [' + b"[]," * MAX_MARKS + b"[]]}"
    answer = await user("POST", target, body)
    assert answer.status == 400
    assert b"send it in several requests" in answer.body


async def test_a_body_over_the_limit_is_refused_before_it_is_read(user: Client) -> None:
    said = {"content-length": str(MAX_LARGE_BODY_BYTES + 1)}
    answer = await user("POST", "/api/v1/task/logs", b"{}", headers=said)
    assert (answer.status, answer.json()["error"]["code"]) == (413, 8)


@pytest.mark.parametrize("target", ["/api/v1/auth/login", "/login"])
async def test_requests_without_a_token_may_send_only_small_bodies(app: Api, target: str) -> None:
    said = {"content-length": str(MAX_STRANGERS_BODY_BYTES + 1)}
    for headers in (said, {**said, "authorization": "Bearer user"}, {**said, "cookie": "auth=x"}):
        answer = await Client(app)("POST", target, b"{}", headers=headers)
        assert answer.status == 413
        assert b"larger than the limit" in answer.body


async def test_a_body_of_unknown_length_is_cut_off_at_the_limit(user: Client) -> None:
    piece = b" " * (8 * 1024 * 1024)
    pieces = [piece] * (MAX_LARGE_BODY_BYTES // len(piece)) + [b"{}"]
    answer = await user("POST", "/api/v1/task/logs", b"{}", pieces=pieces)
    assert answer.status == 413


UNREADABLE = {
    "no UTF-8": ("/login", b'{"username": "\xff"}', "'utf-8' codec can't decode byte 0xff"),
    "no text": ("/login", b'{"username": 5}', "Expected `str`, got `int` - at `$.username`"),
    "nothing": ("/login", b"", "Input data was truncated"),
    "a list": ("/login", b"[" * 60_000, "Expected `object`, got `array`"),
    "deep": ("/task-logs", b'[{"x": ' + b"[" * 60_000, "the body is nested too deeply"),
    "no task": ("/task-logs", b'[{"log": "x"}]', "missing required field `task_id` - at `$[0]`"),
}


@pytest.mark.parametrize(("path", "body", "told"), UNREADABLE.values(), ids=UNREADABLE)
async def test_an_unreadable_plain_body_is_refused_with_its_fault(
    user: Client, path: str, body: bytes, told: str
) -> None:
    answer = await user("POST", path, body)
    assert answer.status == 400
    assert answer.text.startswith("Bad Request: ")
    assert told in answer.text


@pytest.mark.parametrize("count", [10, 5000, 10_000])
async def test_a_body_of_any_size_is_read_alike_however_it_is_written(
    user: Client, count: int
) -> None:
    """Large ones are read in a thread, those that no careful client has written before others."""
    for name in ("taskId", "task_id"):
        body = b'{"logs": [%b]}' % b", ".join(
            [b'{"%b": "7.a", "log": "%b"}' % (name.encode(), b"x" * 40)] * count
        )
        assert (await user("POST", "/api/v1/task/logs", body)).status == 200
    exact, walked = seen.requests[-2:]
    assert exact == walked
    assert len(walked.logs) == count


async def test_a_large_body_in_pieces_is_read_whole(user: Client) -> None:
    log = "x" * 1_500_000
    body = msgspec.json.encode({"logs": [{"taskId": "t", "log": log}]})
    answer = await user("POST", "/api/v1/task/logs", body, pieces=[body[:7], body[7:]])
    assert answer.status == 200
    assert len(seen.requests[0].logs[0].log) == len(log)
