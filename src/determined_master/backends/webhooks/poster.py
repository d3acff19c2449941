"""Posts to other servers: no redirects, and only addresses that users may name."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

import httptools

from determined_master.backends.named_hosts import resolve
from determined_master.domain.errors import InvalidArgument
from determined_master.domain.webhooks.definitions import check_address
from determined_master.ports.posts import PostFailed

if TYPE_CHECKING:
    from determined_master.domain.addresses import IPNetwork

DEADLINE_S = 10.0
"""For the whole of a post: name, connection, request and head of the answer."""
MAX_HEAD_BYTES = 64 * 1024


class HttpPoster:
    """A `HttpPosts`; each post has a connection of its own."""

    def __init__(self, allowed: Sequence[IPNetwork], deadline_s: float = DEADLINE_S) -> None:
        """`allowed` are networks besides the public ones."""
        self._allowed = allowed
        self._deadline_s = deadline_s
        self._tls: ssl.SSLContext | None = None

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> int:
        """Post once; the status of the answer. Raises PostFailed."""
        try:
            async with asyncio.timeout(self._deadline_s):
                return await self._post(urlsplit(url), headers, body)
        except TimeoutError:
            raise PostFailed(f"no answer within {self._deadline_s:g} s") from None
        except (OSError, asyncio.IncompleteReadError, httptools.HttpParserError) as error:
            raise PostFailed(str(error) or type(error).__name__) from error
        except asyncio.LimitOverrunError:
            raise PostFailed(f"the answer's head is over {MAX_HEAD_BYTES} bytes") from None

    async def _post(self, url: SplitResult, headers: Mapping[str, str], body: bytes) -> int:
        reader, writer = await self._connect(url)
        try:
            writer.write(_head(url, headers, len(body)) + body)
            await writer.drain()
            while (status := _status(await reader.readuntil(b"\r\n\r\n"))) < 200:
                pass
            return status
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                writer.transport.abort()

    async def _connect(
        self, url: SplitResult
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect with the first address that answers, if users may name all of them."""
        host = url.hostname or ""
        is_tls = url.scheme == "https"
        port = url.port or (443 if is_tls else 80)
        check = partial(check_address, host, allowed=self._allowed)
        try:
            endpoints = await asyncio.to_thread(resolve, host, port, check)
        except InvalidArgument as error:
            raise PostFailed(str(error), is_final=True) from None
        addresses = list(dict.fromkeys(str(address[0]) for *_, address in endpoints))
        if is_tls and self._tls is None:
            self._tls = await asyncio.to_thread(ssl.create_default_context)
        fault: OSError = OSError(f"{host} has no address")
        for address in addresses:
            try:
                return await asyncio.open_connection(
                    address,
                    port,
                    limit=MAX_HEAD_BYTES,
                    ssl=self._tls if is_tls else None,
                    server_hostname=host if is_tls else None,
                )
            except OSError as error:
                fault = error
        raise fault


def _head(url: SplitResult, headers: Mapping[str, str], length: int) -> bytes:
    path = url.path or "/"
    target = f"{path}?{url.query}" if url.query else path
    fields = {
        "Host": url.netloc.rpartition("@")[2],
        "User-Agent": "determined-master",
        "Accept": "*/*",
        "Connection": "close",
        "Content-Length": str(length),
        **headers,
    }
    lines = [f"POST {target} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
    return "\r\n".join([*lines, "", ""]).encode("ascii", errors="replace")


def _status(head: bytes) -> int:
    parser = httptools.HttpResponseParser(object())
    parser.feed_data(head)
    return int(parser.get_status_code())
