"""The debug server."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
from pathlib import Path
from typing import Any

import pytest
from tests.certificates import Authority
from tests.covers import covers
from tests.free_ports import free_port

from determined_agent.debug_server import MAX_HEAD_BYTES, ListenError, debug_server
from determined_agent.settings.options import Settings


def settings(**overrides: Any) -> Settings:
    values: dict[str, Any] = {"master_host": "m", "api_enabled": True, "bind_port": free_port()}
    return Settings(**(values | overrides))


def health() -> dict[str, object]:
    return {"agent_id": "a", "is_connected": False}


async def ask(port: int, request: bytes, trust: ssl.SSLContext | None = None) -> tuple[int, str]:
    name = "agent.example" if trust else None
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", port, ssl=trust, server_hostname=name
    )
    writer.write(request)
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    return int(head.split(b" ")[1]), body.decode()


@covers("agent-config 2.api_enabled 2.bind_ip 2.bind_port")
async def test_health_and_stacks_are_served_at_the_configured_address() -> None:
    chosen = settings()
    async with debug_server(chosen, health):
        status, text = await ask(chosen.bind_port, b"GET /health HTTP/1.1\r\n\r\n")
        assert (status, json.loads(text)) == (200, health())
        status, text = await ask(chosen.bind_port, b"GET /debug/stacks?x=1 HTTP/1.1\r\n\r\n")
        assert status == 200
        assert "task Task-" in text
        assert "thread MainThread" in text
        assert "in ask" in text
    with pytest.raises(ConnectionRefusedError):
        await ask(chosen.bind_port, b"")


async def test_it_listens_only_if_enabled_and_on_loopback_by_default() -> None:
    off = settings(api_enabled=False)
    async with debug_server(off, health):
        with pytest.raises(ConnectionRefusedError):
            await ask(off.bind_port, b"")
    assert Settings(master_host="m").bind_ip == "127.0.0.1"
    assert not Settings(master_host="m").api_enabled


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"POST /health HTTP/1.1\r\n\r\n", 405),
        (b"GET /debug/pprof/ HTTP/1.1\r\n\r\n", 404),
        (b"nonsense\r\n\r\n", 400),
        (b"GET /" + b"x" * 2 * MAX_HEAD_BYTES + b" HTTP/1.1\r\n\r\n", 400),
    ],
)
async def test_other_requests_are_refused(request_: bytes, status: int) -> None:
    chosen = settings()
    async with debug_server(chosen, health):
        found, text = await ask(chosen.bind_port, request_)
    assert found == status
    if status == 404:
        assert text == "this agent serves /health and /debug/stacks\n"


@covers("agent-config 2.tls 2.tls_cert")
async def test_it_serves_https_with_a_certificate(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    pair = authority.sign("agent.example")
    chosen = settings(tls=True, tls_cert=str(pair.cert), tls_key=str(pair.key))
    trust = ssl.create_default_context(cafile=str(authority.cert))
    async with debug_server(chosen, health):
        status, _ = await ask(chosen.bind_port, b"GET /health HTTP/1.1\r\n\r\n", trust)
    assert status == 200
    other = authority.sign("other").key
    wrong = settings(tls=True, tls_cert=str(pair.cert), tls_key=str(other))
    with pytest.raises(ListenError, match="name a certificate and its key"):
        async with debug_server(wrong, health):
            pass


async def test_the_error_for_a_port_in_use_names_the_remedy() -> None:
    chosen = settings()
    with (
        socket.create_server(("127.0.0.1", chosen.bind_port)),
        pytest.raises(ListenError, match=r"cannot listen on .*choose another `bind_ip` or"),
    ):
        async with debug_server(chosen, health):
            pass
