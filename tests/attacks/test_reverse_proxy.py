"""N6: behind a reverse proxy, one peer's guesses lock out everybody; headers are forged."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import shutil
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from tests.agent_link import until
from tests.api.master import PASSWORD
from tests.api.proxy.proxied import DEADLINE_S, Master, Reply, parse
from tests.api.proxy.running import running_master
from tests.free_ports import free_port

from determined_master.server import request_limits
from determined_master.services.access.login_limits import MAX_FAILURES
from determined_master.services.access.passwords import Passwords
from determined_master.store.db import Address

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(NGINX is None, reason="needs nginx (apt-get install nginx-light)"),
]
GUESSER, OTHER, THIRD = "127.0.0.2", "127.0.0.3", "127.0.0.4"
"""Addresses of clients; nginx connects to the master from 127.0.0.1."""
CONFIG = """
daemon off; master_process off; pid {directory}/pid; error_log {directory}/error.log;
events {{ worker_connections 256; }}
http {{
  access_log off;
  client_body_temp_path {directory}/body; proxy_temp_path {directory}/proxy;
  fastcgi_temp_path {directory}/f; uwsgi_temp_path {directory}/u; scgi_temp_path {directory}/s;
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass http://127.0.0.1:{master};
      proxy_http_version 1.1;
      proxy_request_buffering off;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    }}
  }}
}}
"""


@pytest_asyncio.fixture(loop_scope="module")
async def master(postgres: Address, passwords: Passwords) -> AsyncIterator[Master]:
    async with running_master(postgres, passwords, ["127.0.0.1/32"]) as made:
        yield made


@contextlib.asynccontextmanager
async def nginx(master: Master, directory: Path) -> AsyncIterator[int]:
    """A real nginx in front of the master; its port."""
    port = free_port()
    config = directory / "nginx.conf"
    config.write_text(CONFIG.format(directory=directory, port=port, master=master.port))
    log = directory / "error.log"
    process = await asyncio.create_subprocess_exec(
        str(NGINX), "-c", str(config), "-p", str(directory), "-e", str(log)
    )
    try:
        await until(lambda: process.returncode is not None or listens(port), what="nginx listens")
        assert process.returncode is None, log.read_text()
        yield port
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


async def login(port: int, client: str, username: str, password: str, *headers: str) -> Reply:
    """One login from a client's address."""
    return parse(await raw_login(port, client, username, password, *headers))


async def raw_login(port: int, client: str, username: str, password: str, *headers: str) -> bytes:
    body = json.dumps({"username": username, "password": password}).encode()
    lines = ["POST /api/v1/auth/login HTTP/1.1", "Host: m", "Connection: close", *headers]
    lines += ["Content-Type: application/json", f"Content-Length: {len(body)}", "", ""]
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(client, 0))
    try:
        writer.write("\r\n".join(lines).encode() + body)
        return await asyncio.wait_for(reader.read(), DEADLINE_S)
    finally:
        writer.close()


async def guess_until_refused(port: int, client: str, *headers: str) -> None:
    for number in range(MAX_FAILURES):
        assert (await login(port, client, f"u{number}", "guess", *headers)).status == 401
    assert (await login(port, client, "u", "guess", *headers)).status == 429


async def test_behind_nginx_a_peer_that_guesses_locks_out_itself_alone(
    master: Master, tmp_path: Path
) -> None:
    async with nginx(master, tmp_path) as port:
        await guess_until_refused(port, GUESSER)
        assert (await login(port, GUESSER, "determined", PASSWORD)).status == 429
        assert (await login(port, OTHER, "determined", PASSWORD)).status == 200


async def test_behind_nginx_a_forged_header_changes_nothing(
    master: Master, tmp_path: Path
) -> None:
    async with nginx(master, tmp_path) as port:
        await guess_until_refused(port, GUESSER, f"X-Forwarded-For: {OTHER}")
        for forged in (THIRD, "8.8.8.8, 9.9.9.9", '"', "unknown", "127.0.0.1", "a," * 500):
            header = f"X-Forwarded-For: {forged}"
            assert (await login(port, GUESSER, "determined", PASSWORD, header)).status == 429
        assert (await login(port, OTHER, "determined", PASSWORD)).status == 200
        # A header that nginx passes on unchanged: all that forge it share one address.
        await guess_until_refused(port, THIRD, "Forwarded: for=8.8.8.8")
        header = "Forwarded: for=9.9.9.9"
        assert (await login(port, THIRD, "u", "guess", header)).status == 429
        assert (await login(port, THIRD, "determined", PASSWORD)).status == 200


async def test_a_forged_header_of_a_peer_that_is_no_proxy_changes_nothing(master: Master) -> None:
    for number in range(MAX_FAILURES):
        header = f"X-Forwarded-For: 8.8.8.{number}"
        assert (await login(master.port, GUESSER, "u", "guess", header)).status == 401
    for header in ("X-Forwarded-For: 9.9.9.9", "Forwarded: for=9.9.9.9"):
        assert (await login(master.port, GUESSER, "determined", PASSWORD, header)).status == 429
    assert (await login(master.port, OTHER, "determined", PASSWORD)).status == 200


async def test_a_proxy_that_no_setting_names_locks_out_no_browser_that_logged_in_before(
    postgres: Address, passwords: Passwords, tmp_path: Path
) -> None:
    async with running_master(postgres, passwords) as master, nginx(master, tmp_path) as port:
        first = await raw_login(port, OTHER, "determined", PASSWORD)
        mark = re.findall(rb"set-cookie: (det_device=[^;]+); Path=/api/v1/auth/login;", first)
        await guess_until_refused(port, GUESSER)
        assert (await login(port, OTHER, "admin", PASSWORD)).status == 429
        assert (await login(port, OTHER, "determined", PASSWORD)).status == 200, "a known place"
        for _ in range(MAX_FAILURES):
            assert (await login(port, GUESSER, "determined", "guess")).status == 401
        assert (await login(port, OTHER, "determined", PASSWORD)).status == 429
        header = f"Cookie: {mark[0].decode()}"
        assert (await login(port, OTHER, "determined", PASSWORD, header)).status == 200


async def upload(port: int, client: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A request whose body does not come."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(client, 0))
    head = "POST /api/v1/auth/login HTTP/1.1\r\nHost: m\r\nContent-Length: 60000\r\n\r\n{"
    writer.write(head.encode())
    await writer.drain()
    return reader, writer


async def test_behind_nginx_incomplete_requests_are_counted_by_client(
    master: Master, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_limits, "MAX_UNFINISHED", 3)
    async with nginx(master, tmp_path) as port:
        uploads = [await upload(port, GUESSER) for _ in range(3)]
        await until(lambda: request_limits._unfinished[GUESSER] == 3)
        assert "127.0.0.1" not in request_limits._unfinished
        reader, writer = await upload(port, GUESSER)
        answer = parse(await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), DEADLINE_S))
        assert answer.status == 408
        assert (await login(port, OTHER, "determined", PASSWORD)).status == 200
        for _, other in [*uploads, (reader, writer)]:
            other.close()
