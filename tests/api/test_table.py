"""The route table against the public API and the lists of access."""

from __future__ import annotations

import re

import msgspec
import pytest

from determined_master.api.http.access import SIGNED_IN
from determined_master.api.http.openapi import document
from determined_master.api.http.routes import plain_route
from determined_master.api.table import OURS, all_routes
from determined_master.api.targets import build_table
from determined_wire.rest.endpoints import ENDPOINTS

PUBLIC = {(e.method, e.path): e for e in ENDPOINTS}


def test_every_route_below_api_v1_is_of_the_public_api_or_declared_ours() -> None:
    below = {(r.method, r.path) for r in all_routes() if r.path.startswith("/api/v1/")}
    assert below <= PUBLIC.keys() | OURS


def test_no_route_of_ours_shadows_one_of_the_public_api() -> None:
    assert not OURS & PUBLIC.keys()


def test_served_routes_take_and_give_the_messages_of_the_public_api() -> None:
    for route in all_routes():
        endpoint = PUBLIC.get((route.method, route.path))
        if endpoint is not None:
            assert route.request is not None
            assert route.response is not None
            assert route.request.__name__ == endpoint.request.rpartition(".")[2]
            assert route.response.__name__ == endpoint.response.rpartition(".")[2]
            assert (route.kind == "stream") is endpoint.is_stream


def test_routes_for_tasks_belong_to_the_public_api_or_ours() -> None:
    for_tasks = {(r.method, r.path) for r in all_routes() if r.task is not None}
    assert len(for_tasks) > 30
    of_pods = {("GET", "/task/harness.tar.gz"), ("GET", "/task/storage-client/{machine}")}
    assert for_tasks <= PUBLIC.keys() | OURS | of_pods


def test_the_routes_that_need_no_token_are_these() -> None:
    """Add one here only with a reason: whoever reaches the port may call it."""
    assert {(r.method, r.path) for r in all_routes() if r.is_public} == {
        ("GET", "/"),
        ("GET", "/det/{path**}"),  # the web UI: files of the package, and the caller's own data
        ("HEAD", "/det/{path**}"),
        ("GET", "/det/assets/{path*}"),
        ("HEAD", "/det/assets/{path*}"),
        ("GET", "/info"),
        ("GET", "/health"),  # details only with a token
        ("POST", "/login"),
        ("GET", "/det/customer-assets/logo"),  # the sign-in shows it
        ("GET", "/det/login"),
        ("HEAD", "/det/login"),
        ("POST", "/det/login"),
        ("GET", "/docs"),  # pages of the package
        ("GET", "/docs/{page*}"),
        ("POST", "/api/v1/auth/login"),
        ("GET", "/api/v1/master"),
        ("GET", "/api/v1/openapi.json"),
    }
    assert all(len(r.public_reason.split()) > 3 for r in all_routes() if r.is_public)
    authenticating = {(r.method, r.path) for r in all_routes() if r.authenticates}
    assert authenticating == {  # by the join token
        ("WS", "/agents"),
        ("POST", "/agents/starts"),
        ("GET", "/agent/wheel"),
        ("GET", "/agent/packages"),
    }


def test_a_route_that_does_not_say_who_may_call_it_is_an_error() -> None:
    with pytest.raises(KeyError, match="access"):

        @plain_route("GET", "/x")
        async def silent(call: object) -> None:
            """Says nothing."""


def test_two_routes_cannot_share_a_path_and_method() -> None:
    @plain_route("GET", "/info", access=SIGNED_IN)
    async def another(call: object) -> None:
        """The same again."""

    with pytest.raises(ValueError, match="/info"):
        build_table([*all_routes(), another])


def test_the_openapi_document_describes_every_served_route() -> None:
    parsed = msgspec.json.decode(document(all_routes(), "1.2.3"))
    for route in all_routes():
        if route.kind in ("socket", "service"):  # neither has an operation of its own
            continue
        operation = parsed["paths"][route.path.replace("*", "")][route.method.lower()]
        names = {p["name"] for p in operation["parameters"] if p["in"] == "path"}
        assert names == {n.rstrip("*") for n in re.findall(r"{([^}]+)}", route.path)}
    references = re.findall(r'"#/components/schemas/(\w+)"', document(all_routes(), "1").decode())
    assert set(references) <= parsed["components"]["schemas"].keys()


def test_every_route_of_the_public_api_is_served() -> None:
    assert set(PUBLIC) - {(r.method, r.path) for r in all_routes()} == set()
