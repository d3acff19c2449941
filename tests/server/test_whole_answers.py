"""An answer in one piece has the same bytes as the two messages of ASGI would have."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import uvicorn
from tests.server.test_tls_shutdown import Server

from determined_master.server.proxied_http import ProxyingHttp
from determined_master.server.whole_answers import WHOLE_TO_BYTES, FixedHeaders, send_whole

HEADERS = FixedHeaders([(b"content-type", b"text/plain"), (b"x-own", b"1")])
GET = b"GET /%d HTTP/1.1\r\nhost: x\r\n\r\n"


class Answers:
    """An application that answers `/N` with N bytes, and notes what was sent whole."""

    def __init__(self, *, may_be_whole: bool) -> None:
        self.may_be_whole = may_be_whole
        self.were_whole: list[bool] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = b"x" * int(scope["path"][1:])
        is_whole = self.may_be_whole and send_whole(send, 200, HEADERS, body)
        self.were_whole.append(is_whole)
        if not is_whole:
            length = (b"content-length", b"%d" % len(body))
            await send(
                {"type": "http.response.start", "status": 200, "headers": [*HEADERS, length]}
            )
            await send({"type": "http.response.body", "body": body})


async def exchange(app: Answers, sent: bytes, answers: int) -> list[bytes]:
    """What a server answers on one connection, split at the status lines, without dates."""
    config = uvicorn.Config(
        app, http=ProxyingHttp, lifespan="off", log_config=None, port=0, loop="none",
        server_header=False,
    )  # fmt: skip
    server = Server(config)
    running = asyncio.create_task(server._serve())
    try:
        await server.is_up.wait()
        port = server.servers[0].sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        got = b""
        while got.count(b"\r\n\r\n") < answers:
            got += await reader.read(65536)
        writer.write_eof()
        got += await reader.read()
        writer.close()
    finally:
        server.should_exit = True
        await running
    lines = [line for line in got.split(b"\r\n") if not line.startswith(b"date: ")]
    return [b"HTTP/1.1" + part for part in b"\r\n".join(lines).split(b"HTTP/1.1")[1:]]


CASES = {
    "one": (GET % 5, [True]),
    "pipelined": (b"".join(GET % size for size in (3, 0, 70)), [True] * 3),
    "at the limit": (GET % WHOLE_TO_BYTES, [True]),
    "over the limit": (GET % (WHOLE_TO_BYTES + 1), [False]),
    "HEAD": ((GET % 5).replace(b"GET", b"HEAD"), [False]),
    "HTTP 1.0": ((GET % 5).replace(b"1.1", b"1.0"), [False]),
    "closing": ((GET % 5).replace(b"host", b"connection: close\r\nhost"), [False]),
}


@pytest.mark.parametrize(("sent", "were_whole"), CASES.values(), ids=CASES.keys())
async def test_the_bytes_are_those_of_two_messages(sent: bytes, were_whole: list[bool]) -> None:
    whole, parts = Answers(may_be_whole=True), Answers(may_be_whole=False)
    got = await exchange(whole, sent, len(were_whole))
    assert whole.were_whole == were_whole
    assert [sorted(answer.split(b"\r\n")) for answer in got] == [
        sorted(answer.split(b"\r\n")) for answer in await exchange(parts, sent, len(were_whole))
    ]
    assert len(got) == len(were_whole)


async def test_a_send_that_is_wrapped_gets_messages() -> None:
    async def send(message: Any) -> None:
        raise AssertionError(message)

    assert not send_whole(send, 200, HEADERS, b"")


@pytest.mark.parametrize("header", [(b"x-a", b"1\r\nx-b: 2"), (b"x a", b"1"), (b"x-a\r\n", b"")])
def test_headers_that_end_a_line_are_refused(header: tuple[bytes, bytes]) -> None:
    with pytest.raises(ValueError, match="characters that end a line"):
        FixedHeaders([header])
