"""`det dev`: the token, curl and the bindings."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Det
from tests.cli.fake_master import Answer, Call, FakeMaster

from determined.common.api import authentication


def test_auth_token_prints_the_token_of_the_active_user(det: Det, master: FakeMaster) -> None:
    authentication.TokenStore(master.url).set_token("bob", "of-bob")
    assert det("-u", "bob", "dev", "auth-token").out == "of-bob\n"


@pytest.mark.skipif(not shutil.which("curl"), reason="there is no curl here")
def test_curl_gets_the_token_outside_of_its_command_line(master: FakeMaster, home: Path) -> None:
    authentication.TokenStore(master.url).set_token("bob", "of-bob")

    def answer(call: Call) -> Answer:
        return 200, {"authorization": call.headers["authorization"], "body": call.json}

    master.routes[("POST", "/api/v1/x")] = answer
    words = ["-u", "bob", "-m", master.url, "dev", "curl", "api/v1/x", "-X", "POST", "-d", "@-"]
    done = subprocess.run(
        [sys.executable, "-m", "determined.cli", *words],
        input='{"a": 1}',
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert json.loads(done.stdout) == {"authorization": "Bearer of-bob", "body": {"a": 1}}


def test_a_full_url_is_refused_as_a_path(det: Det, master: FakeMaster) -> None:
    outcome = det("dev", "curl", "http://elsewhere/api")
    assert outcome.status == 1
    assert "'http://elsewhere/api' is a full URL" in outcome.err
    assert master.calls == []


@pytest.mark.parametrize(
    "words",
    [("3", "ORDER_BY_DESC"), ("limit=3", "orderBy=ORDER_BY_DESC"), ("order_by=2", "limit=3")],
)
def test_a_call_takes_arguments_in_order_and_by_name(
    det: Det, master: FakeMaster, words: tuple[str, ...]
) -> None:
    path = "/api/v1/workspaces/7/projects"
    master.routes[("GET", path)] = (200, {"projects": [{"id": 1, "name": "p"}]})
    if "=" in words[0]:
        given = ("id=7", *words)
    else:
        given = ("7", f"limit={words[0]}", f"orderBy={words[1]}")
    out = det("dev", "b", "c", "get_GetWorkspaceProjects", *given).out
    assert json.loads(out)["projects"][0]["name"] == "p"
    query = master.made("GET", path)[0].query
    assert query["limit"] == ["3"]
    assert query["orderBy"][0] in ("ORDER_BY_DESC", "2")


def test_a_body_is_json(det: Det, master: FakeMaster) -> None:
    route = ("POST", "/api/v1/workspaces")
    master.routes[route] = (200, {"workspace": {"id": 3, "name": "w"}})
    out = det("dev", "bindings", "call", "post_PostWorkspace", '{"name": "w"}').out
    assert master.made(*route)[0].json == {"name": "w"}
    assert json.loads(out)["workspace"]["agentUserGroup"] is None


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("nothing",), "there is no function 'nothing'"),
        (("pauseexperiment", "1"), "name one of: post_PauseExperiment, post_PauseExperiments"),
        (("get_GetUser",), "get_GetUser needs userId"),
        (("get_GetUser", "ann"), "userId takes a value of type int"),
        (("get_GetUser", "1", "2"), "get_GetUser takes 1 arguments, not 2"),
    ],
)
def test_an_invalid_call_is_refused(
    det: Det, master: FakeMaster, words: tuple[str, ...], text: str
) -> None:
    outcome = det("dev", "bindings", "call", *words)
    assert outcome.status == 1
    assert text in outcome.err


def test_auto_confirm_accepts_a_matching_name(det: Det, master: FakeMaster) -> None:
    master.routes[("GET", "/api/v1/users/ann/by-username")] = (200, {"user": {"id": 9}})
    out = det("dev", "bindings", "call", "-y", "userbyusername", "ann").out
    assert json.loads(out)["user"]["id"] == 9


def test_list_prints_every_function_with_its_parameters(det: Det, home: Path) -> None:
    lines = det("dev", "bindings", "list").out.splitlines()
    assert "get_GetUser <= userId: 'int'" in lines
    assert len(lines) > 200
