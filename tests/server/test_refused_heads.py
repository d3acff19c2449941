"""A head that is too large is logged as such, also over TLS, where bytes come after the end."""

from __future__ import annotations

import asyncio
import contextlib
import ssl

import pytest
from tests.certificates import Pair
from tests.server.test_tls_shutdown import pair as pair
from tests.server.test_tls_shutdown import serving, uvloop_runner

PIECES = 64


@pytest.mark.slow
def test_a_head_that_is_too_large_is_logged_once_with_its_reason(
    pair: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    with uvloop_runner() as run:
        run(_send_a_large_head(pair))
    texts = [record.getMessage() for record in caplog.records]
    assert texts.count("the head of a request is larger than 65536 bytes") == 1
    assert not [text for text in texts if "is no HTTP request" in text]


@pytest.mark.slow
def test_cookies_that_fill_a_head_are_deleted_by_the_answer(pair: Pair) -> None:
    """Pages at any port of the host set them: they must not lock a visitor out."""
    with uvloop_runner() as run:
        answers = [run(_ask(pair, head)) for head in (COOKIES, b"x-long: " + b"x" * 70_000)]
    assert all(answer.startswith(b"HTTP/1.1 431 ") for answer in answers)
    assert b'clear-site-data: "cookies"' in answers[0]
    assert b"delete them in the browser and sign in again" in answers[0]
    assert b"clear-site-data" not in answers[1]


COOKIES = b"cookie: " + b"; ".join(b"n%d=%s" % (number, b"x" * 4000) for number in range(20))


async def _ask(pair: Pair, header: bytes) -> bytes:
    async with serving(pair, b"") as server:
        port = server.servers[0].sockets[0].getsockname()[1]
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", port, ssl=context, server_hostname="localhost"
        )
        writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n" + header + b"\r\n\r\n")
        answer = b""
        with contextlib.suppress(ConnectionError, ssl.SSLError, TimeoutError):
            async with asyncio.timeout(60):
                while piece := await reader.read(65536):
                    answer += piece
        writer.close()
        return answer


async def _send_a_large_head(pair: Pair) -> None:
    async with serving(pair, b"") as server:
        port = server.servers[0].sockets[0].getsockname()[1]
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", port, ssl=context, server_hostname="localhost"
        )
        writer.write(
            b"GET / HTTP/1.1\r\nhost: x\r\nx-long: " + b"x" * 65536 * PIECES + b"\r\n\r\n"
        )
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            while await reader.read(65536):
                pass
        writer.close()
