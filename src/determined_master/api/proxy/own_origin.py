"""An origin of their own for the pages of tasks (setting `proxy.address`).

A page that shares the master's origin can call the master as its viewer. With this setting the
master redirects browsers from `/proxy/SERVICE/` to the other address, with a ticket. There the
ticket is exchanged for a cookie that opens this one service, and nothing else is served.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple
from urllib.parse import urlsplit

from determined_master import clock, entropy
from determined_master.api.http import cookies
from determined_master.api.http.exchange import Http
from determined_master.api.proxy.heads import PASS_COOKIE
from determined_master.domain.errors import PermissionDenied

TICKET = b"det_ticket"
TICKET_S = 60.0
"""Time in which a browser must follow the redirect."""
MAX_KEPT = 10_000
"""Tickets and passes that are kept; the oldest are forgotten."""
SERVICES = b"/proxy/"
_PLACE = "{service}"


class Pass(NamedTuple):
    """The right of one browser to one service."""

    token: str
    """The user's token behind it: the pass ends with it."""
    service_id: str


class ServiceOrigin:
    """The address at which browsers open services of tasks.

    Tickets and passes are in memory: after a restart of the master users open the page again.
    """

    def __init__(self, address: str) -> None:
        """
        Args:
            address: `http(s)://HOST[:PORT]`; with `{service}` in the host each service has an
                origin of its own.
        """
        self._address = address.rstrip("/")
        parts = urlsplit(self._address)
        self._before, _, self._after = parts.netloc.lower().partition(_PLACE)
        self._is_secure = parts.scheme == "https"
        self._tickets: OrderedDict[str, tuple[Pass, float]] = OrderedDict()
        self._passes: OrderedDict[str, Pass] = OrderedDict()

    def is_at(self, http: Http) -> bool:
        """Whether a request was sent to this address, and not to the master's."""
        host = http.header("host").lower()
        if _PLACE not in self._address:
            return host == self._before
        return host.startswith(self._before) and host.endswith(self._after)

    def is_of(self, http: Http, service_id: str) -> bool:
        """Whether a request was sent to the address of this service."""
        return http.header("host").lower() == urlsplit(self._of(service_id)).netloc.lower()

    def check(self, http: Http, service_id: str) -> None:
        """Return if a service may answer a request that was sent to the master's own address.

        Raises:
            PermissionDenied: a page sent it, so that the answer would be of the master's origin.
        """
        if http.header("sec-fetch-mode") or (http.cookie and not http.authorization):
            raise PermissionDenied(
                f"pages of tasks are served at {self._of(service_id)}/proxy/{service_id}/ only: "
                "open them there, or send the token as 'Authorization: Bearer TOKEN'"
            )

    def is_navigation(self, http: Http) -> bool:
        """Whether a browser opens a page with this request."""
        if http.method not in ("GET", "HEAD") or http.takeover is not None:
            return False
        mode = http.header("sec-fetch-mode")
        return mode == "navigate" if mode else "text/html" in http.header("accept")

    def redirect(self, http: Http, service_id: str, token: str) -> str:
        """The location of a page at its own origin; with a ticket if there is a token."""
        query = [part for part in http.raw_query.split(b"&") if part]
        if token:
            ticket = entropy.token()
            expires_at = clock.monotonic_s() + TICKET_S
            self._tickets[ticket] = Pass(token, service_id), expires_at
            if len(self._tickets) > MAX_KEPT:
                self._tickets.popitem(last=False)
            query.append(TICKET + b"=" + ticket.encode())
        return self._location(http, service_id, query)

    def exchange(self, http: Http, service_id: str) -> tuple[str, bytes | None] | None:
        """Exchange the ticket in a request.

        Returns:
            The location without the ticket, and the cookie of the pass, which is None if the
            ticket is not valid. None if there is no ticket.
        """
        query = [part for part in http.raw_query.split(b"&") if part]
        tickets = [part.partition(b"=")[2] for part in query if part.startswith(TICKET + b"=")]
        if not tickets:
            return None
        rest = [part for part in query if not part.startswith(TICKET + b"=")]
        location = self._location(http, service_id, rest)
        found, expires_at = self._tickets.pop(tickets[0].decode("latin-1"), (None, 0.0))
        if found is None or found.service_id != service_id or clock.monotonic_s() > expires_at:
            return location, None
        value = entropy.token()
        self._passes[value] = found
        if len(self._passes) > MAX_KEPT:
            self._passes.popitem(last=False)
        secure = "; Secure" if self._is_secure else ""
        cookie = (
            f"{PASS_COOKIE}={value}; Path=/proxy/{service_id}/; HttpOnly; SameSite=Lax{secure}"
        )
        return location, cookie.encode()

    def token_of(self, http: Http, service_id: str) -> str:
        """The user's token behind the pass in a request; empty without one for this service."""
        for value in cookies.values(http.cookie, PASS_COOKIE):
            found = self._passes.get(value)
            if found is not None and found.service_id == service_id:
                return found.token
        return ""

    @property
    def is_shared(self) -> bool:
        """Whether all services have this origin."""
        return _PLACE not in self._address

    def _of(self, service_id: str) -> str:
        return self._address.replace(_PLACE, service_id.replace(":", "-"))

    def _location(self, http: Http, service_id: str, query: list[bytes]) -> str:
        path = http.raw_path.decode("latin-1")
        text = b"&".join(query).decode("latin-1")
        return f"{self._of(service_id)}{path}" + (f"?{text}" if text else "")
