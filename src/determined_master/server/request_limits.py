"""Limits on requests that are not complete: size and time of a head, speed of a body, number.

They hold before anything is known of the sender. Complete requests cost next to nothing more.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Callable, Iterable
from http import HTTPStatus

from determined_master.server.forwarded import client_address, is_proxy, trusted_proxies
from determined_master.server.write_coalescing import CoalescingHttp

log = logging.getLogger(__name__)

MAX_HEAD_BYTES = 64 * 1024
HEAD_S = 10.0
"""Time for a whole head; for the first one from the start of the connection."""
BODY_CHECK_S = 20.0
"""Period in which the speed of a body is measured."""
LEAST_BYTES_A_S = 1024
"""Of a body, while the master reads it."""
MAX_UNFINISHED = 1024
"""Connections of one address whose request is not complete."""
SERVICES = b"/proxy/"
"""Paths whose bodies go to services of tasks, which may take their time."""

_unfinished: Counter[str] = Counter()


class LimitedHttp(CoalescingHttp):
    """uvicorn's protocol with limits on incomplete requests."""

    was_refused = False
    """Whether a limit has ended the connection."""
    _is_in_head = True
    _head_bytes = 0
    _served: object = None
    """The scope of the last request whose head was complete."""
    _body_bytes = 0
    """Received since the speed was last measured."""
    _timer: asyncio.TimerHandle | None = None
    """Of an incomplete head or body."""
    _address = ""
    """Set while the connection counts as unfinished."""
    _is_proxy = False
    """Whether it is of a trusted proxy, whose requests are counted by their clients."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept the connection, unless too many of its address are unfinished."""
        super().connection_made(transport)
        address = self.client[0] if self.client else ""
        self._is_proxy = is_proxy(address, trusted_proxies(self.config))
        if not self._is_proxy and self._is_over_limit(address):
            transport.abort()
            return
        self._begin_wait(HEAD_S, self._end_late_head)

    def connection_lost(self, exc: Exception | None) -> None:
        """Handle the end of the connection, as in `asyncio.Protocol`."""
        self._end_wait()
        super().connection_lost(exc)

    def on_headers_complete(self) -> None:
        """Begin to serve, if the head is not too large."""
        self._is_in_head = False
        self._served = self.scope
        if self._timer is not None:
            self._end_wait()
        if self._head_bytes > MAX_HEAD_BYTES and self._size_of_head() > MAX_HEAD_BYTES:
            self._refuse_head()
            raise HeadTooLarge
        if self._is_proxy and self.client:
            trusted = trusted_proxies(self.config)
            client = client_address(self.client[0], self.headers, trusted)
            self.scope["client"] = (client, 0)
        super().on_headers_complete()
        if not self.parser.should_upgrade():
            self.headers = _NO_TRAILERS

    def on_message_complete(self) -> None:
        """Wait for the next request."""
        self._is_in_head = True
        self._head_bytes = 0
        if self._timer is not None:
            self._end_wait()
        super().on_message_complete()

    def received(self, size: int) -> None:
        """Count bytes before they are parsed."""
        if self._is_in_head:
            self._head_bytes += size
        else:
            self._body_bytes += size

    def check_unfinished(self) -> None:
        """Limit the request whose last bytes have not come yet; called after parsing."""
        if not self._is_in_head:
            if self._timer is None:
                self._body_bytes = 0
                if self._is_proxy and self._is_over_limit(self._client_of_request()):
                    self._end_in_body("too many incomplete requests of this address")
                    return
                self._begin_wait(BODY_CHECK_S, self._measure_body)
        elif self._head_bytes > MAX_HEAD_BYTES:
            self._refuse_head()
        elif self._timer is None and self.scope is not self._served:  # the next head has begun
            self._begin_wait(HEAD_S, self._end_late_head)

    def stop_limits(self) -> None:
        """The bytes that follow are not HTTP any more."""
        self._end_wait()

    def _begin_wait(self, seconds: float, then: Callable[[], None]) -> None:
        if not self._address and self.client and not (self._is_proxy and self._is_in_head):
            self._address = self._client_of_request() if self._is_proxy else self.client[0]
            _unfinished[self._address] += 1
        self._timer = self.loop.call_later(seconds, then)

    def _end_wait(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._address:
            _unfinished[self._address] -= 1
            if not _unfinished[self._address]:
                del _unfinished[self._address]
            self._address = ""

    def _end_late_head(self) -> None:
        self._end_wait()
        if self.scope is not self._served:
            text = f"the head of the request is not complete after {HEAD_S:g} seconds"
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, text)
        else:
            self.transport.close()

    def _measure_body(self) -> None:
        self._timer = None
        is_slow = self._body_bytes < BODY_CHECK_S * LEAST_BYTES_A_S
        is_read = not self.flow.read_paused
        if is_slow and is_read and not self.scope["raw_path"].startswith(SERVICES):
            self._end_wait()
            self._end_in_body(f"the body comes slower than {LEAST_BYTES_A_S} bytes a second")
            return
        self._body_bytes = 0
        self._begin_wait(BODY_CHECK_S, self._measure_body)

    def _end_in_body(self, text: str) -> None:
        if self.cycle.response_started:
            self.transport.close()
        else:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, text)

    def _client_of_request(self) -> str:
        client = self.scope["client"]
        return client[0] if client else ""

    def _is_over_limit(self, address: str) -> bool:
        if _unfinished[address] < MAX_UNFINISHED:
            return False
        log.info("too many unfinished requests of an address", extra={"client": address})
        return True

    def _size_of_head(self) -> int:
        return len(self.url) + sum(len(name) + len(value) for name, value in self.headers)

    def _refuse_head(self) -> None:
        self._end_wait()
        client = ":".join(map(str, self.client or ("unknown",)))
        log.info(
            "the head of a request is larger than %d bytes",
            MAX_HEAD_BYTES,
            extra={"client": client},
        )
        text = (
            f"the head of the request is larger than {MAX_HEAD_BYTES} bytes: send fewer or "
            "shorter headers, and long parameters in the body"
        )
        headers = b""
        cookies = sum(len(value) for name, value in self.headers if name.lower() == b"cookie")
        if cookies > MAX_HEAD_BYTES // 2:
            # Pages at any port of this host set cookies for it: nobody may be locked out by them.
            headers = b'clear-site-data: "cookies"\r\n'
            text = (
                f"the cookies of this address have {cookies} bytes: delete them in the browser "
                "and sign in again. Over TLS and on localhost this answer deletes them"
            )
        self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, text, headers)

    def _refuse(self, status: HTTPStatus, text: str, headers: bytes = b"") -> None:
        self.was_refused = True
        body = json.dumps({"message": text}).encode() + b"\n"
        self.transport.write(
            b"HTTP/1.1 %d %s\r\ncontent-type: application/json; charset=UTF-8\r\n"
            b"%scontent-length: %d\r\nconnection: close\r\n\r\n%s"
            % (status.value, status.phrase.encode(), headers, len(body), body)
        )
        self.transport.close()


class HeadTooLarge(Exception):
    """The head of a request is over the limit; the answer is sent."""


class _Dropped(list[tuple[bytes, bytes]]):
    """Drops trailers: they come after the application has read the headers."""

    def append(self, item: tuple[bytes, bytes]) -> None:
        """Drop it."""

    def extend(self, items: Iterable[tuple[bytes, bytes]]) -> None:
        """Drop them."""


_NO_TRAILERS = _Dropped()
