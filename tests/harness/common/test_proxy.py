"""Proxies from the environment: exempt hosts, and errors of a proxy that fails."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from tests.harness.common.test_http import Server

from determined.common.api import RetryPolicy, UnauthSession, _retry, errors
from determined.common.api._address import parse_address
from determined.common.api._proxy import proxy_for
from determined.common.api._retry import TASK
from determined_master.domain.task.notices import without_marks

ONCE = RetryPolicy(total=0)
MASTER = "http://master.example:81"


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("http", "https", "all", "no"):
        for name in (f"{kind}_proxy", f"{kind.upper()}_PROXY"):
            monkeypatch.delenv(name, raising=False)


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with Server() as server:
        monkeypatch.setenv("HTTP_PROXY", f"http://me:secret@127.0.0.1:{server.port}")
        yield server


def is_exempt(url: str, no_proxy: str) -> bool:
    env = {"HTTP_PROXY": "http://proxy:3128", "HTTPS_PROXY": "http://proxy:3128"}
    return proxy_for(parse_address(url), {**env, "NO_PROXY": no_proxy}) is None


@pytest.mark.parametrize(
    ("url", "no_proxy"),
    [
        ("http://127.0.0.1:8080", "127.0.0.0/8"),
        ("http://127.0.0.1:8080", "127.0.0.1/32"),
        ("http://10.3.2.1", "localhost, 10.0.0.0/8"),
        ("https://10.3.2.1", "10.1.2.3/8"),
        ("http://10.3.2.1", "10.0.0.0/255.0.0.0"),
        ("http://[fd00::7]:8080", "fd00::/8"),
        ("http://[fd00::7]:8080", "[fd00::]/8"),
        ("http://[fd00::7]", "fd00:0:0::7"),
        ("http://[fd00::7]:81", "[fd00::7]:81"),
        ("http://127.0.0.1:9999", "127.0.0.1:9999"),
        ("http://10.0.0.1", "10.0.0.1"),
        ("http://10.0.0.1", "*"),
        ("http://master", " * "),
        ("http://master", "a,  master ,b"),
        ("http://master:8080", "master:8080"),
        ("http://Master.Inside", ".INSIDE"),
        ("http://a.inside", "inside"),
        ("http://a.inside", "*.inside"),
        ("http://inside", ".inside"),
        ("http://theinside", "inside"),
    ],
)
def test_names_addresses_ranges_and_ports_are_exempt(url: str, no_proxy: str) -> None:
    assert is_exempt(url, no_proxy)


@pytest.mark.parametrize(
    ("url", "no_proxy"),
    [
        ("http://127.0.0.1:8080", "127.0.0.1:9999"),
        ("http://[fd00::7]:82", "[fd00::7]:81"),
        ("http://11.0.0.1", "10.0.0.0/8"),
        ("http://[fe80::1]", "fd00::/8,10.0.0.0/8"),
        ("http://110.0.0.1", "10.0.0.1"),
        ("http://10.0.0.1", "10.0.0"),
        ("http://10.0.0.1", "10.0.0.0/99,/,10/x,::/x,[,:,.,999.1.1.1"),
        ("http://master", "10.0.0.0/8,127.0.0.1,::1"),
        ("http://master:8080", "master:81"),
        ("http://theinside", ".inside"),
        ("http://inside.example", "inside"),
        ("http://master", ""),
        ("http://master", ",, ,."),
    ],
)
def test_no_other_host_is_exempt(url: str, no_proxy: str) -> None:
    assert not is_exempt(url, no_proxy)


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({"HTTP_PROXY": "http://u:p@proxy:3128"}, ("HTTP_PROXY", "proxy", 3128)),
        ({"HTTP_PROXY": "http://a", "http_proxy": "http://b"}, ("http_proxy", "b", 80)),
        ({"HTTP_PROXY": "proxy"}, ("HTTP_PROXY", "proxy", 80)),
        ({"ALL_PROXY": "proxy:1"}, ("ALL_PROXY", "proxy", 1)),
        ({"HTTP_PROXY": "http://a", "http_proxy": ""}, None),
        ({"HTTPS_PROXY": "http://a"}, None),
    ],
)
def test_the_variables_have_the_order_of_requests(
    env: dict[str, str], expected: tuple[str, str, int] | None
) -> None:
    proxy = proxy_for(parse_address("http://master"), env)
    assert (proxy and (proxy.variable, proxy.address.host, proxy.address.port)) == expected


@pytest.mark.parametrize("value", ["socks5://u:secret@proxy:1080", "http://", "http://a:x", "::"])
def test_a_variable_without_the_address_of_a_proxy_is_named(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", value)
    with pytest.raises(errors.MasterNotFoundException) as error:
        UnauthSession(MASTER)
    assert str(error.value).startswith("ALL_PROXY has '")
    assert "NO_PROXY=master.example" in str(error.value)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("master", [MASTER, "https://master.example:82"])
def test_an_unreachable_proxy_is_named_with_its_variable(
    master: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Server() as server:
        port = server.port
    monkeypatch.setenv("ALL_PROXY", f"http://me:secret@127.0.0.1:{port}")
    with (
        UnauthSession(master, max_retries=ONCE) as session,
        pytest.raises(errors.MasterNotFoundException) as error,
    ):
        session.post("/x")
    assert str(error.value) == (
        f"no answer from the master at {master} through the proxy http://127.0.0.1:{port} "
        "(ALL_PROXY): Connection refused. If the master needs no proxy, exempt it with "
        "NO_PROXY=master.example; otherwise correct ALL_PROXY."
    )


@pytest.mark.parametrize("status", [403, 407, 502, 503, 504])
@pytest.mark.parametrize("master", [MASTER, "https://master.example:82"])
def test_an_error_of_the_proxy_is_not_one_of_the_master(
    proxy: Server, status: int, master: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.port}")
    proxy.answers = [
        b"HTTP/1.1 %d No\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nno" % status
    ]
    with (
        UnauthSession(master, max_retries=ONCE) as session,
        pytest.raises(errors.MasterNotFoundException) as error,
    ):
        session.get("/x")
    assert f"(HTTP{'S' * master.startswith('https')}_PROXY): it answered {status} No" in str(
        error.value
    )
    assert "secret" not in str(error.value)


def test_a_proxy_that_hangs_up_is_named(proxy: Server) -> None:
    proxy.answers = [b""]
    with (
        UnauthSession(MASTER, max_retries=ONCE) as session,
        pytest.raises(errors.MasterNotFoundException, match=r"\(HTTP_PROXY\)"),
    ):
        session.get("/x")


def test_an_error_of_the_master_that_a_proxy_passes_on_stays_its_own(proxy: Server) -> None:
    proxy.answers = [
        b"HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\n"
        b'Content-Length: 15\r\n\r\n{"message":"x"}'
    ]
    with (
        UnauthSession(MASTER, max_retries=ONCE) as session,
        pytest.raises(errors.ForbiddenException),
    ):
        session.get("/x")


def test_a_task_that_cannot_reach_the_master_logs_one_line_for_an_outage(
    proxy: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _retry.LATE_S == 10.0
    monkeypatch.setattr(_retry, "LATE_S", 0.02)
    refused = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"
    policy = TASK._replace(backoff_s=0.01, backoff_max_s=0.01)
    with UnauthSession(MASTER, max_retries=policy) as session:
        for _ in range(2):
            proxy.answers = [refused] * 12
            assert session.get("/x").ok
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 4
    for away, back in (lines[:2], lines[2:]):
        assert re.fullmatch(
            rf"WARNING: \[\d+\] determined: no answer from the master at {MASTER} through the "
            rf"proxy http://127.0.0.1:{proxy.port} \(HTTP_PROXY\): 502; trying until "
            r"\d\d:\d\d:\d\d UTC",
            away,
        )
        assert back.endswith("determined: the master answers again")


def test_inside_a_task_the_lines_of_an_outage_have_marks_for_the_master(
    proxy: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_retry, "LATE_S", 0.02)
    monkeypatch.setenv("DET_ALLOCATION_ID", "1.a.1")
    proxy.answers = [b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"] * 12
    policy = TASK._replace(backoff_s=0.01, backoff_max_s=0.01)
    with UnauthSession(MASTER, max_retries=policy) as session:
        assert session.get("/x").ok
    away, back = capsys.readouterr().err.splitlines()
    assert [n.kind for n in without_marks(away)[1]] == ["master_away"]
    assert [n.kind for n in without_marks(back)[1]] == ["master_back"]


def test_a_short_outage_is_not_logged(proxy: Server, capsys: pytest.CaptureFixture[str]) -> None:
    proxy.answers = [b"HTTP/1.1 502 No\r\nContent-Length: 0\r\n\r\n"] * 3
    with UnauthSession(MASTER, max_retries=TASK._replace(backoff_s=0.01)) as session:
        assert session.get("/x").ok
    assert capsys.readouterr().err == ""
